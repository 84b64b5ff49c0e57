"""A finished cell as a line, for people or for programs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from flatwater.cli.cell_lines import CELLS_PRINTED, CellPrinter, bound_line, cell_json, cell_label, cell_line
from flatwater.cli.request import RunRequest
from flatwater.results import CellSummary


def summary(index: int, status: str = "complete", **more: Any) -> CellSummary:
    swept = {"workload.threads": index, "storage.fill": 0.5}
    return CellSummary.model_validate(
        {"cell": index, "seed": 1, "status": status, "unit": "IOPS", "set": swept, "warnings": ["slow"]} | more
    )


def test_a_cell_is_called_by_what_is_swept() -> None:
    assert cell_label(summary(2)) == "threads 2, fill 0.5"


def test_a_cell_with_a_name_is_called_by_it_in_every_repeat(capsys: pytest.CaptureFixture[str]) -> None:
    assert [cell_label(summary(index), ["few", "many"]) for index in range(4)] == ["few", "many", "few", "many"]
    with CellPrinter(as_json=False, names=["few", "many"]) as printer:
        printer.print(summary(1, verdict_text="Flat."), 2, 2)
    assert capsys.readouterr().err.splitlines() == ["  [2/2] many: Flat.", "  warning: slow"]


def test_an_interrupted_cell_has_no_number_of_those_done() -> None:
    line = cell_line(summary(2, "interrupted"), 1, 3, "threads 2")
    assert line == "threads 2: interrupted after 0 s of measurement"


def test_a_failed_cell_of_several_says_why() -> None:
    line = cell_line(summary(2, "failed", error="no room"), 1, 3, "threads 2")
    assert line == "[1/3] threads 2: failed: no room"


def test_a_line_of_json_has_no_histograms_and_the_experiment_of_several() -> None:
    assert json.loads(cell_json(summary(2)))["cell"] == 2
    told = json.loads(cell_json(summary(2), "quick"))
    assert told["experiment"] == "quick" and "histograms" not in told


@pytest.mark.parametrize(("as_json", "total", "printed"), [(False, 2, 3), (False, CELLS_PRINTED + 1, 1), (True, 2, 0)])
def test_what_is_printed_while_cells_run(
    capsys: pytest.CaptureFixture[str], as_json: bool, total: int, printed: int
) -> None:
    """Lines for people: two cells, and the warning of both; of very many cells the warning only."""
    with CellPrinter(as_json=as_json) as printer:
        for number in (1, 2):
            printer.print(summary(number), number, total)
    out, err = capsys.readouterr()
    assert len(err.splitlines()) == printed
    assert len(out.splitlines()) == (2 if as_json else 0)


def test_resuming_prints_as_the_run_did() -> None:
    assert RunRequest(("a",), as_json=True).resume_options == ["--json"]
    assert RunRequest(("a",)).resume_options == []
    with pytest.raises(ValueError, match="too many values"):
        _ = RunRequest(("a", "b")).file


def test_what_bounded_a_cell_is_a_line_with_its_evidence() -> None:
    bound = {
        "name": "log limit",
        "text": "Bound by: log limit (100 % of the seconds).",
        "evidence": ["the age was 5 MiB", "users wait from 6 MiB on", "not printed"],
        "interruptions_text": "2 dips.",
    }
    line = bound_line(summary(2, bound=bound, verdict="flat"), "threads 2, fill 0.5")
    told = "Bound by: log limit (100 % of the seconds): the age was 5 MiB; users wait from 6 MiB on."
    assert line == f"threads 2, fill 0.5: {told} 2 dips."
    assert json.loads(cell_json(summary(2, bound=bound)))["bound"]["name"] == "log limit"
    assert bound_line(summary(2, verdict="flat"), "") is None
    assert bound_line(summary(2, bound=bound), "") is None, "too short for a verdict, which the cell's line says"
