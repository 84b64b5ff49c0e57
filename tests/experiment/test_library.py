from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from flatwater.errors import FlatwaterError
from flatwater.experiment import LibraryEntry, library, load, published_for
from flatwater.experiment.library import library_dir, library_files
from flatwater.experiment.sweep import iter_cells

ENTRIES = library()


def test_the_library_is_whole() -> None:
    assert [entry.name for entry in ENTRIES] == [
        "card-async-read",
        "card-threads",
        "card-write-curve",
        "demo",
        "fill-level",
        "fsync",
        "latency-at-rate",
        "quick",
        "raid-basics",
        "snia-iops",
    ]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_each_says_what_it_is_and_runs_anywhere(entry: LibraryEntry) -> None:
    experiment = load(entry.path)
    assert experiment.title and experiment.about
    assert experiment.storage.path is None
    assert experiment.storage.overwrite is False
    text = entry.path.read_text()
    assert text.startswith("# ")
    assert f"flatwater run {entry.name} --set storage.path=" in text
    assert all(len(line) <= 120 for line in text.splitlines())


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_what_destroys_says_so(entry: LibraryEntry) -> None:
    text = entry.path.read_text()
    assert ("storage.overwrite=true" in text) == bool(re.search("DESTROYS", text))


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_every_published_figure_stands_beside_a_cell(entry: LibraryEntry) -> None:
    experiment = load(entry.path)
    beside = [id(figure) for cell in iter_cells(experiment) for figure in published_for(experiment, cell.set)]
    assert set(beside) == {id(figure) for figure in experiment.published}


def test_the_published_fill_levels() -> None:
    experiment = load("fill-level")
    main = {cell.set["storage.fill"]: cell.experiment.published[0] for cell in iter_cells(experiment)}
    assert {fill: figure.value for fill, figure in main.items()} == {0.2: 990, 0.4: 964, 0.6: 783, 0.8: 611, 1.0: 417}
    assert {figure.unit for figure in main.values()} == {"MiB/s"}


def test_the_short_ones_are_short() -> None:
    longest = {entry.name: entry.longest_s for entry in ENTRIES}
    assert longest["demo"] <= 60
    assert longest["quick"] <= 30


def test_an_installed_package_finds_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site" / "flatwater"
    (package / "experiment").mkdir(parents=True)
    # The package's own name for it is the function.
    module = sys.modules["flatwater.experiment.library"]
    monkeypatch.setattr(module, "__file__", str(package / "experiment" / "library.py"))
    with pytest.raises(FlatwaterError, match="library is missing"):
        library_dir()
    (package / "experiments").mkdir()
    (package / "experiments" / "mine.toml").touch()
    assert list(library_files()) == ["mine"]
