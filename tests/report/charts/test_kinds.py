from __future__ import annotations

from flatwater.report.charts.kinds import Kinds
from flatwater.report.recorded import Recorded


def test_reads_beside_writes(recorded: Recorded) -> None:
    [figure] = Kinds().draw(recorded)
    assert [trace["name"] for trace in figure.data] == ["read", "write"] * 3
    assert [trace.get("showlegend", True) for trace in figure.data] == [True] * 2 + [False] * 4
    titles = [figure.layout[axis]["title"]["text"] for axis in ("yaxis", "yaxis2", "yaxis3")]
    assert titles == ["operations/s", "MiB/s", "p95 latency"]


def test_one_kind_alone_says_nothing_new(recorded: Recorded) -> None:
    lines = {name: one for name, one in recorded.lines.items() if ".write_" not in name}
    assert Kinds().draw(Recorded(recorded.cell, lines, recorded.span_s)) == []
