from __future__ import annotations

from flatwater.report.charts.device import Device
from flatwater.report.charts.flash import Flash
from flatwater.report.recorded import Recorded


def test_amplification_first_then_who_takes_the_time(recorded_card: Recorded) -> None:
    [figure] = Flash().draw(recorded_card)
    assert figure.title == "Flash (modelled)"
    names = [trace["name"] for trace in figure.data]
    assert names == [
        "write amplification",
        *("writes wait for the collector", "dies busy", "link busy"),
        *("written by the host", "moved by the collector"),
        *("free blocks", "valid pages", "erases", "write buffer"),
    ]


def test_a_models_utilisation_is_not_a_kernels(recorded_card: Recorded) -> None:
    assert Device().draw(recorded_card) == []


def test_of_real_storage_it_says_nothing_of_models(recorded: Recorded) -> None:
    [figure] = Flash().draw(recorded)
    assert figure.title == "Flash"
    assert [trace["name"] for trace in figure.data] == ["write amplification"]


def test_nothing_of_other_devices(recorded_array: Recorded, recorded_disk: Recorded) -> None:
    assert Flash().draw(recorded_array) == []
    assert Flash().draw(recorded_disk) == []
