from __future__ import annotations

from flatwater.report.charts.device import Device
from flatwater.report.charts.modelled import Modelled
from flatwater.report.recorded import Recorded


def test_a_disk(recorded_disk: Recorded) -> None:
    [figure] = Modelled().draw(recorded_disk)
    assert figure.title == "Device (modelled)"
    assert [trace["name"] for trace in figure.data] == ["busy", "mean seek", "queue depth", "dirty in the cache"]
    assert Device().draw(recorded_disk) == []


def test_an_array_has_its_cache_in_a_chart_of_its_own(recorded_array: Recorded) -> None:
    [figure] = Modelled().draw(recorded_array)
    assert [trace["name"] for trace in figure.data] == ["queue depth"]


def test_nothing_of_real_storage(recorded: Recorded) -> None:
    assert Modelled().draw(recorded) == []
