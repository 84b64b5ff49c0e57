from __future__ import annotations

from flatwater.report.charts.wear import Wear
from flatwater.report.recorded import Recorded


def test_gauges_from_nothing_to_a_hundred(recorded_card: Recorded) -> None:
    [figure] = Wear().draw(recorded_card)
    assert figure.layout["yaxis"]["range"] == [0, 102]
    assert [trace["series"] for trace in figure.data] == [
        *("storage.media_wearout", "storage.available_reserve_pct"),
        *("storage.erase_count_max", "storage.erase_count_mean", "storage.bad_blocks"),
    ]


def test_a_disk_does_not_wear(recorded_disk: Recorded) -> None:
    assert Wear().draw(recorded_disk) == []
