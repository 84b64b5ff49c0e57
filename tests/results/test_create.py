"""A result folder is made, taken over from a killed run, or refused; what a refusal made is deleted."""

from __future__ import annotations

from pathlib import Path

import pytest

from flatwater.errors import UserError
from flatwater.results import create_result
from flatwater.results.create import make_folders, undo
from flatwater.results.lock import run_alone
from flatwater.results.schema import CellPlan, Manifest

MANIFEST = Manifest(
    name="x",
    flatwater_version="1",
    status="running",
    created_at="2026-01-01T00:00:00+00:00",
    seed=1,
    cells=[CellPlan(index=index, repeat=0, set={}, seed=index) for index in (1, 0)],
)


def test_its_cells_are_in_order(tmp_path: Path) -> None:
    result = create_result(tmp_path / "out", MANIFEST, "name = 'x'", {"cores": 2})
    assert ([cell.index for cell in result.cells], result.machine) == ([0, 1], {"cores": 2})
    assert result.experiment == {"name": "x"}


def test_refuses_what_it_cannot_write(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    whole = create_result(tmp_path / "whole", MANIFEST, "", {}).path
    for place in (tmp_path / "file", tmp_path / "file" / "below", tmp_path / ("x" * 300), whole):
        with pytest.raises(UserError, match=str(place)):
            create_result(place, MANIFEST, "", {})
        with pytest.raises(UserError, match=r"\(hint: "):
            create_result(place, MANIFEST, "", {})
    assert {path.name for path in tmp_path.iterdir()} == {"file", "whole"}


@pytest.mark.parametrize("status", ["running", "complete"])
def test_what_can_be_done_about_a_result_in_the_way(tmp_path: Path, status: str) -> None:
    out = create_result(tmp_path / "out", MANIFEST.model_copy(update={"status": status}), "", {}).path
    with pytest.raises(UserError) as told:
        create_result(out, MANIFEST, "", {})
    assert ("to go on: flatwater resume" in str(told.value)) == (status == "running")
    with run_alone(out), pytest.raises(UserError, match=r"runs it already .*choose another --out, or to follow it"):
        create_result(out, MANIFEST, "", {})


def test_what_a_kill_left_half_made_is_taken_over(tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / "cells").mkdir(parents=True)
    (out / "experiment.toml").write_text("name = 'x'")
    assert create_result(out, MANIFEST, "name = 'x'", {}).path == out


@pytest.mark.parametrize("stray", ["notes.txt", "cells/0000", "experiment.toml"])
def test_a_folder_with_anything_else_in_it_is_not_half_made(tmp_path: Path, stray: str) -> None:
    out = tmp_path / "out"
    (out / "cells").mkdir(parents=True)
    (out / stray).write_text("of somebody else")
    with pytest.raises(UserError, match="exists and is not empty"):
        create_result(out, MANIFEST, "name = 'x'", {})
    assert (out / stray).read_text() == "of somebody else"


def test_only_what_was_made_is_undone(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    made = make_folders(tmp_path / "a" / "b" / "c")
    assert made == [tmp_path / "a" / "b", tmp_path / "a" / "b" / "c"]
    undo(made)
    assert list(tmp_path.rglob("*")) == [tmp_path / "a"]


def test_a_folder_that_is_not_empty_is_not_undone(tmp_path: Path) -> None:
    made = make_folders(tmp_path / "b")
    (tmp_path / "b" / "notes").touch()
    undo(made)
    assert (tmp_path / "b" / "notes").exists()
