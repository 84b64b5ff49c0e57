"""A result that is damaged, or that somebody damaged, takes no other from the tables, and is named."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from lab import Lab

from flatwater.catalogue import read_catalogue
from flatwater.results.tags import change_tags

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))
sys.path.append(str(Path(__file__).parents[1]))
import synthetic

from damaged_results import VALUES, damaged


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = synthetic.single(tmp_path_factory.mktemp("original") / "result", 30, histograms=False)
    change_tags(path, {"kernel": "6.12", "mine": ""}, [], "a note")
    return path


@pytest.fixture(scope="module")
def many(original: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sound result, and one more for each leaf of its files, with another value there."""
    folder = tmp_path_factory.mktemp("many")
    shutil.copytree(original, folder / "sound")
    damaged(original, folder)
    return folder


@pytest.mark.parametrize("turn", range(len(VALUES)))
def test_any_value_anywhere(original: Path, tmp_path: Path, turn: int) -> None:
    shutil.copytree(original, tmp_path / "sound")
    names = damaged(original, tmp_path, (*VALUES[turn:], *VALUES[:turn]))
    found = read_catalogue([tmp_path])
    assert str(tmp_path / "sound") in found.runs
    # Each is in the tables or named, and none is both where all of it is left out.
    assert {*found.runs, *found.left_out} == {str(tmp_path / name) for name in [*names, "sound"]}
    assert all(why and len(why) < 1000 for why in found.left_out.values())


def test_half_of_a_character_in_the_machine(original: Path, tmp_path: Path, lab: Lab) -> None:
    for name in ("a", "b"):
        shutil.copytree(original, tmp_path / "runs" / name)
    (tmp_path / "runs" / "b" / "machine.json").write_text(json.dumps({"cpu": "\ud800"}))
    for arguments in (("ls",), ("query", "select run, cpu from machine", "--in"), ("trend",)):
        ran = lab.flatwater(*arguments, tmp_path / "runs")
        assert ran.code == 0
        # The trend of one experiment needs nothing of its machine that is half a character.
        assert arguments == ("trend",) or ("runs/b" in ran.stderr and "damaged" in ran.stderr), ran.stderr
        assert arguments == ("trend",) or "runs/a" in ran.stdout


@pytest.mark.parametrize(
    "arguments", [("ls",), ("ls", "--json"), ("query", "select * from summary", "--in"), ("trend",)]
)
def test_every_verb_lists_the_others(many: Path, lab: Lab, arguments: tuple[str, ...]) -> None:
    ran = lab.flatwater(*arguments, many)
    assert ran.code == 0
    assert arguments == ("trend",) or "sound" in ran.stdout
