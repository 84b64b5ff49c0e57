"""What bounded the cells, on the report's first screen."""

from __future__ import annotations

from flatwater.report.bounds import bound_word, bounds, sentences_of
from flatwater.report.page import render
from flatwater.results import Result
from flatwater.results.schema import Bound, BoundFinding

LOG = Bound(
    name="log limit",
    share=1.0,
    of="seconds",
    evidence=["the age was <b>5 MiB</b>", "of 6 MiB"],
    others=[BoundFinding(name="CPU", share=0.3, of="time", evidence=["the server used 2 cores"])],
    text="Bound by: log limit (100 % of the seconds), then CPU (30 % of the sessions' time).",
    interruptions_text="2 dips.",
)


def test_one_cell_tells_its_bound_with_all_of_its_evidence(single: Result) -> None:
    summary = single.cells[0].summary
    assert summary is not None
    summary.bound = LOG
    (line,) = bounds(single)
    assert (line.text, line.cells) == (LOG.text, "")
    assert line.evidence == [*LOG.evidence, "2 dips."]
    html = render(single)
    assert "&lt;b&gt;5 MiB" in html and "<b>5 MiB" not in html, "a result may come from anybody"
    assert "Also at work: CPU. The server used 2 cores." in html


def test_cells_are_told_by_their_bound_the_most_frequent_first(sweep: Result) -> None:
    done = [summary for cell in sweep.cells if (summary := cell.summary) is not None]
    for summary in done:
        summary.bound = LOG
    done[0].bound = Bound(name="not told", text="Not told what bounded it: no bound explains a quarter of the run.")
    first, second = bounds(sweep)
    assert first.text == f"Bound by: log limit, {len(done) - 1} of {len(done)} cells."
    assert "the age was <b>5 MiB</b>; of 6 MiB" in first.evidence[0]
    assert second.text.startswith("Not told what bounded it, 1 of ")
    assert '<th scope="col">bound by</th>' in render(sweep)
    assert bound_word(done[0]) == "not told"


def test_a_result_of_before_it_was_told_says_nothing(sweep: Result) -> None:
    for cell in sweep.cells:
        if cell.summary is not None:
            cell.summary.bound = None
    assert bounds(sweep) == []
    html = render(sweep)
    assert 'id="bounds"' not in html and "bound by" not in html


def test_evidence_as_running_text() -> None:
    assert sentences_of(["one", "two"]) == "One; two."
    assert sentences_of([]) == ""
