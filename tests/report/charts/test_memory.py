from __future__ import annotations

from flatwater.report.charts.memory import Memory
from flatwater.report.recorded import Recorded


def test_sizes_are_binary_and_what_is_zero_is_left_out(recorded: Recorded) -> None:
    [figure] = Memory().draw(recorded)
    titles = [figure.layout[axis]["title"]["text"] for axis in ("yaxis", "yaxis2", "yaxis3")]
    assert titles == ["GiB", "MiB", "pressure, %"]
    names = [trace["name"] for trace in figure.data]
    assert names[:4] == ["available", "page cache", "dirty", "writeback"]
    assert "memory: some wait" not in names
