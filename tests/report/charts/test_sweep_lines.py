from __future__ import annotations

from pathlib import Path
from typing import Any

import synthetic

from flatwater.report.charts import sweep_lines
from flatwater.report.swept import Swept, arrange
from flatwater.results import Result


def swept_of(path: Path, values: list[Any]) -> Swept:
    result: Result = synthetic.create(path, [({"workload.block_size": value}, 0) for value in values])
    found = arrange(result)
    assert found is not None
    return found


def test_powers_of_two_are_logarithmic_and_labelled(tmp_path: Path) -> None:
    axis = sweep_lines.axis(swept_of(tmp_path / "r", [4096, 16384, 65536]))
    assert axis["type"] == "log"
    assert axis["tickvals"] == [4096.0, 16384.0, 65536.0]
    assert axis["ticktext"] == ["4 KiB", "16 KiB", "64 KiB"]


def test_words_keep_their_order(tmp_path: Path) -> None:
    axis = sweep_lines.axis(swept_of(tmp_path / "r", ["zebra", "<ant>"]))
    assert axis["type"] == "category"
    assert axis["categoryarray"] == ["zebra", "&lt;ant&gt;"]


def test_many_values_are_left_to_plotly(tmp_path: Path) -> None:
    assert "tickvals" not in sweep_lines.axis(swept_of(tmp_path / "r", list(range(100))))
