from __future__ import annotations

from itertools import pairwise

import numpy as np

from flatwater.report.charts.device import Device
from flatwater.report.drawing import DrawnCell
from flatwater.report.recorded import Recorded


def test_three_strips(recorded: Recorded) -> None:
    [figure] = Device().draw(recorded)
    assert [trace["name"] for trace in figure.data] == ["utilisation", "read await", "write await", "queue depth"]
    domains = [figure.layout[axis]["domain"] for axis in ("yaxis", "yaxis2", "yaxis3")]
    assert all(above[0] > below[1] for above, below in pairwise(domains))
    assert figure.layout["xaxis"]["anchor"] == "y3"


def test_a_second_without_requests_breaks_the_line(recorded: Recorded) -> None:
    [figure] = Device().draw(recorded)
    await_ = DrawnCell(recorded, [figure]).resolved(figure)["data"][1]
    assert np.isnan(await_["y"]).sum() == 3
    assert figure.layout["yaxis2"]["range"][0] > -5


def test_a_device_without_figures_has_the_strips_it_has(recorded: Recorded) -> None:
    lines = {"storage.queue_depth": recorded.lines["storage.queue_depth"]}
    [figure] = Device().draw(Recorded(recorded.cell, lines, recorded.span_s))
    assert [trace["name"] for trace in figure.data] == ["queue depth"]
