from __future__ import annotations

from pathlib import Path

import numpy as np
import synthetic

from flatwater.report.charts import WANTED
from flatwater.report.charts.transactions import Transactions
from flatwater.report.recorded import Recorded, read
from flatwater.results import open_result

FIVE = ["New-Order", "Payment", "Order-Status", "Delivery", "Stock-Level"]


def test_five_kinds_counted_and_timed(recorded_crash: Recorded) -> None:
    [figure] = Transactions().draw(recorded_crash)
    assert [trace["name"] for trace in figure.data] == FIVE * 2
    assert len({trace["line"]["color"] for trace in figure.data}) == 5
    titles = [figure.layout[axis]["title"]["text"] for axis in ("yaxis", "yaxis2")]
    assert titles == ["transactions/s", "p95 latency"]


def test_one_kind_says_nothing_new(tmp_path: Path) -> None:
    result = synthetic.create(tmp_path / "r", [({}, 0)])
    names = ("ops_per_s", *(f"latency_{which}_us" for which in ("p50", "p95", "p99", "p999", "max")))
    found = {f"workload.transaction_{name}": np.full(60, 5.0) for name in names}
    synthetic.write_rows(result, iter([(0, found | {"workload.throughput": np.full(60, 5.0)})]))
    synthetic.write_summaries(result, [synthetic.summary(0, {}, 5.0, 60, unit="tps")])
    recorded = read(open_result(tmp_path / "r").cells[0], WANTED, 100)
    assert Transactions().draw(recorded) == []
    assert recorded.unclaimed == []
