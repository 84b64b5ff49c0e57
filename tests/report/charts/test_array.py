from __future__ import annotations

from flatwater.report.charts.array import Array
from flatwater.report.recorded import Recorded


def test_states_are_steps(recorded_array: Recorded) -> None:
    [figure] = Array().draw(recorded_array)
    states = {trace["name"]: trace for trace in figure.data if trace["line"].get("shape") == "hv"}
    assert list(states) == ["write-back", "members that work"]
    assert figure.layout["yaxis"]["ticktext"] == ["through", "back"]


def test_what_happened_is_marked_with_its_words(recorded_array: Recorded) -> None:
    [figure] = Array().draw(recorded_array)
    words = [note["text"].replace("&#8201;", "") for note in figure.layout["annotations"]]
    assert "member 2 failed" in words
    assert "rebuild of member 2 began &lt;b&gt;" in words, "text from outside is no markup"
    assert len([shape for shape in figure.layout["shapes"] if shape["type"] == "line"]) == 5


def test_each_member_has_a_line(recorded_array: Recorded) -> None:
    [figure] = Array().draw(recorded_array)
    busy = [trace["name"] for trace in figure.data if trace["series"].endswith("_busy_pct")]
    assert busy == [f"member {number}" for number in range(8)]
    worn = [trace for trace in figure.data if trace["series"].endswith("_media_wearout")]
    assert len(worn) == 8
    assert all(trace["showlegend"] is False for trace in worn), "more members than colours"


def test_work_that_does_not_go_on_is_not_drawn(recorded_array: Recorded) -> None:
    [figure] = Array().draw(recorded_array)
    assert [trace["name"] for trace in figure.data if trace["series"].endswith(("rebuild_pct", "check_pct"))] == [
        "rebuild"
    ]


def test_a_card_is_no_array(recorded_card: Recorded) -> None:
    assert Array().draw(recorded_card) == []
