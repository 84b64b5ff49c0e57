from __future__ import annotations

from flatwater.report.charts import WANTED
from flatwater.report.charts.cache import Cache
from flatwater.report.recorded import Recorded
from flatwater.report.sentences import badges


def test_hits_then_dirty_between_its_marks_then_what_it_costs(recorded_cache: Recorded) -> None:
    figure, device = Cache().draw(recorded_cache)
    assert [trace["name"] for trace in figure.data] == [
        *("hits", "of reads", "of writes"),
        *("dirty", "high mark", "low mark"),
        *("used", "oldest dirty block"),
        *("written back", "written to the cache device", "of that metadata"),
        *("write amplification", "brought in"),
    ]
    assert device.title == "Cache device (modelled)"
    assert [trace["name"] for trace in device.data] == ["dies busy"]


def test_ratios_are_drawn_in_percent(recorded_cache: Recorded) -> None:
    hits = Cache().draw(recorded_cache)[0].data[0]
    assert (hits["series"], hits["scale"]) == ("cache.hit_ratio", 100.0)


def test_marks_of_a_few_percent_fill_the_axis(recorded_cache: Recorded) -> None:
    layout = Cache().draw(recorded_cache)[0].layout
    assert 20 < layout["yaxis2"]["range"][1] < 25


def test_nothing_of_it_is_drawn_twice(recorded_cache: Recorded) -> None:
    assert [series for series in recorded_cache.unclaimed if series.startswith("cache.")] == []
    assert "cache.fast_erase_count_max" in WANTED.undrawn


def test_the_badge_says_what_it_stands_on(recorded_cache: Recorded) -> None:
    told = {badge.layer: badge.text for badge in badges(recorded_cache.cell.result)}
    assert told["cache"] == "modelled: flash cache of 80 GiB, write-back, on Example 400 GB SLC card"
    assert told["storage"].startswith("modelled: A disk")


def test_nothing_without_a_cache(recorded_disk: Recorded, recorded: Recorded) -> None:
    assert Cache().draw(recorded_disk) == []
    assert Cache().draw(recorded) == []
