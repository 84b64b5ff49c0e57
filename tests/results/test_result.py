"""The cells of a result: recorded, sealed, finished, merged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flatwater.errors import UserError
from flatwater.results import CellSummary, Phase, Result, create_result, open_result
from flatwater.results.result import EARLIER, remove_cell
from flatwater.results.schema import CellPlan, Manifest


@pytest.fixture
def result(tmp_path: Path) -> Result:
    """Two cells that a sweep named, of which each has recorded two seconds."""
    plans = [CellPlan(index=index, repeat=0, set={"workload.threads": index + 1}, seed=1) for index in (0, 1)]
    manifest = Manifest(name="x", flatwater_version="1", status="running", created_at="", seed=1, cells=plans)
    made = create_result(tmp_path / "out", manifest, "[report]\nnames = ['calm', 'busy']\n", {})
    for cell in made.cells:
        cell.folder.mkdir()
        lines = [{"time_s": t, "phase": "measure", "metrics": {"workload.throughput": 10.0 * t}} for t in (1.0, 2.0)]
        cell.journal.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return made


def summary(index: int, phases: list[Phase]) -> CellSummary:
    fields: dict[str, Any] = {"cell": index, "repeat": 0, "set": {}, "seed": 1, "unit": "operations"}
    return CellSummary(**fields, status="complete", layers={"storage": "real"}, phases=phases)


MEASURED = [Phase(name="measure", start_s=0, end_s=2)]


def test_a_cell_has_the_name_of_the_file_or_of_its_values(result: Result) -> None:
    assert [cell.label for cell in result.cells] == ["calm", "busy"]
    result.experiment.clear()
    assert [cell.label for cell in result.cells] == ["threads 1", "threads 2"]


def test_a_cell_that_is_not_sealed_is_read_from_its_journal(result: Result) -> None:
    cell = result.cells[0]
    assert cell.series("workload", "throughput").value.tolist() == [10.0, 20.0]
    assert not list(cell.folder.glob("*.parquet")), "reading adds nothing to the result"


def test_a_cell_that_is_finished_is_sealed_and_read_by_the_next_process(result: Result) -> None:
    cell = result.cells[0]
    (cell.folder / EARLIER).write_text("{}")
    cell.finish(summary(0, MEASURED))
    assert sorted(path.name for path in cell.folder.iterdir()) == [
        "histograms-00000.parquet",
        "journal.jsonl",
        "series-00000.parquet",
        "summary.json",
    ]
    first, second = open_result(result.path).cells
    assert (first.summary, second.summary) == (cell.summary, None)
    assert first.measured("workload", "throughput").value.tolist() == [10.0, 20.0]


def test_a_cell_that_was_not_begun_keeps_how_it_ended_before(result: Result) -> None:
    cell = result.cells[0]
    (cell.folder / EARLIER).write_text("{}")
    cell.finish(summary(0, []))
    assert (cell.folder / EARLIER).exists()


def test_a_summary_that_was_dropped_is_still_stored(result: Result) -> None:
    cell = result.cells[0]
    cell.finish(summary(0, MEASURED))
    cell.drop_summary()
    assert cell.summary is None
    assert cell.stored_summary() == summary(0, MEASURED)


def test_a_complete_result_is_merged_and_its_cells_folders_go(result: Result) -> None:
    for cell in result.cells:
        cell.finish(summary(cell.index, MEASURED))
        cell.drop_summary()
    (result.cells[1].folder / "notes.txt").write_text("mine")
    result.seal("complete")
    assert sorted(path.relative_to(result.path).as_posix() for path in (result.path / "cells").rglob("*")) == [
        "cells/0001",
        "cells/0001/notes.txt",
    ]
    again = open_result(result.path)
    assert [cell.summary for cell in again.cells] == [summary(0, MEASURED), summary(1, MEASURED)]
    assert again.cells[1].series("workload", "throughput").value.tolist() == [10.0, 20.0]


def test_a_result_of_another_end_keeps_its_cells_folders(result: Result) -> None:
    result.cells[0].finish(summary(0, MEASURED))
    result.seal("failed")
    assert (open_result(result.path).manifest.status, result.cells[0].journal.exists()) == ("failed", True)
    assert not (result.path / "series.parquet").exists()


def test_a_link_in_place_of_a_cells_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "summary.json").touch()
    (tmp_path / "0000").symlink_to(tmp_path / "elsewhere")
    remove_cell(tmp_path / "0000")
    assert (tmp_path / "elsewhere" / "summary.json").exists()


def test_a_damaged_summary_is_refused(result: Result) -> None:
    (result.cells[0].folder / "summary.json").write_text("[]")
    with pytest.raises(UserError, match="the result is damaged"):
        result.cells[0].stored_summary()
