from __future__ import annotations

import copy
from dataclasses import replace

from flatwater.report.charts.storages import Storages
from flatwater.report.recorded import Recorded


def with_other(recorded: Recorded, name: str) -> Recorded:
    """The same, with a storage of this name that did what the device did."""
    lines = dict(recorded.lines)
    for metric in ("utilisation_pct", "write_await_us"):
        lines[f"storage.{name}_{metric}"] = lines[f"storage.{metric}"]
    cell = copy.copy(recorded.cell)
    assert cell.summary is not None
    layers = {**cell.summary.layers, f"storage {name}": "real: /dev/sdb, ext4 (redo log)"}
    cell.summary = cell.summary.model_copy(update={"layers": layers})
    return replace(recorded, cell=cell, lines=lines)


def test_a_line_for_each_storage(recorded: Recorded) -> None:
    [figure] = Storages().draw(with_other(recorded, "array"))
    assert [trace["name"] for trace in figure.data] == ["data", "array"] * 2
    assert len({trace["line"]["color"] for trace in figure.data}) == 2
    assert figure.layout["yaxis"]["title"]["text"] == "busy, %"


def test_one_storage_is_not_compared(recorded: Recorded) -> None:
    assert Storages().draw(recorded) == []
