"""One bad folder is one bad row of the list: whatever is in it, the others are shown, and new ones are found."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from servelab import Lab, wait_for

sys.path.append(str(Path(__file__).parents[1]))
from damaged_results import VALUES, damaged
from flatwater.results.sealed import GROUP_ROWS_MAX
from flatwater.results.tags import change_tags
from flatwater.serve import catalogue as catalogue_module
from flatwater.serve.catalogue import PAGE_ROWS, Catalogue, Query
from flatwater.serve.folders import key_of

#: A day that no calendar has: the year of the largest time that a file can have.
FAR_S = 2**40


@pytest.fixture(autouse=True)
def never_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """What changed is seen at once."""
    monkeypatch.setattr(catalogue_module, "FRESH_S", 0.0)


def _manifest(folder: Path, **changes: object) -> None:
    file = folder / "flatwater.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


def _locked(folder: Path) -> None:
    (folder / "servers" / "0000").mkdir(parents=True)
    (folder / "servers" / "variables.json").write_text("{}")
    (folder / "servers").chmod(0o444)


def _far_future(folder: Path) -> None:
    _manifest(folder, created_at="")
    os.utime(folder / "flatwater.json", (FAR_S, FAR_S))


def _bomb(folder: Path) -> None:
    """A series of few bytes and many rows."""
    whole = pq.read_table(folder / "series.parquet")
    (folder / "series.parquet").unlink()
    rows = whole.slice(0, 1).take([0] * (GROUP_ROWS_MAX + 1))
    pq.write_table(rows, folder / "series.parquet", row_group_size=len(rows))


def _endless(folder: Path) -> None:
    """A run under way with a journal of one line, a terabyte of holes."""
    _manifest(folder, status="running")
    (folder / "series.parquet").unlink()
    (folder / "summary.json").unlink()
    (folder / "cells" / "0000").mkdir(parents=True)
    with (folder / "cells" / "0000" / "journal.jsonl").open("wb") as handle:
        handle.truncate(1 << 40)


BAD: dict[str, Callable[[Path], object]] = {
    "a series of few bytes and many rows": _bomb,
    "a journal of a terabyte": _endless,
    "a folder that nobody may enter": _locked,
    "no time, and a file of the far future": _far_future,
    "a time before the year 1": lambda folder: _manifest(folder, created_at="0001-01-01T00:00:00+23:59"),
    "half of a character": lambda folder: _manifest(folder, title="\ud800"),
    "a folder for a file": lambda folder: ((folder / "summary.json").unlink(), (folder / "summary.json").mkdir()),
    "deep JSON": lambda folder: (folder / "summary.json").write_text("[" * 100_000),
    "a number of many digits": lambda folder: (folder / "summary.json").write_text("9" * 5000),
}


@pytest.mark.parametrize("bad", sorted(BAD))
def test_a_bad_folder_is_a_bad_row(two_results: Path, tmp_path: Path, bad: str) -> None:
    for name in ("bad", "good"):
        shutil.copytree(two_results / "one", tmp_path / "runs" / name)
    BAD[bad](tmp_path / "runs" / "bad")
    with Lab([tmp_path / "runs"]) as lab:
        lab.catalogue.start()
        page = lab.ask("/")
        assert page.status == 200
        assert key_of(tmp_path / "runs" / "good") in page.text
        bad_run, good_run = (f"/run/{key_of(tmp_path / 'runs' / name)}" for name in ("bad", "good"))
        for address in (
            *("/published", "/trend", "/metrics", bad_run, f"{bad_run}/sparkline.svg", f"{bad_run}/events"),
            f"/compare?run={good_run[5:]}&run={bad_run[5:]}",
        ):
            assert b"Internal Server Error" not in lab.ask(address).body
        # The background still reads what comes.
        shutil.copytree(two_results / "one", tmp_path / "runs" / "new")
        lab.ask("/")
        wait_for(lambda: {one.place.name for one in lab.catalogue.read()[0]} >= {"good", "new"})
        lab.catalogue.end()


AS_NOBODY = """
import os, sys
from pathlib import Path
from flatwater.serve.catalogue import Catalogue, Query
# Whatever is imported on the way is imported while the files of Python can be read.
Catalogue([Path(sys.argv[1], "good")]).listing(Query())
os.setuid(65534)
catalogue = Catalogue([Path(sys.argv[1])])
found = catalogue.listing(Query())
print([one.place.name for one in found.shown], [name for name, _ in found.left_out])
"""


def test_a_folder_that_this_user_may_not_enter(two_results: Path, tmp_path: Path, as_root: None) -> None:
    """Root may enter each: the list is read by nobody, in a process of its own."""
    folder = tmp_path / "runs"
    for name in ("bad", "good"):
        shutil.copytree(two_results / "one", folder / name)
    _locked(folder / "bad")
    for above in folder.parents:
        if above.stat().st_uid == os.geteuid() and not above.stat().st_mode & 0o005 and above != Path("/"):
            above.chmod(above.stat().st_mode | 0o055)
    command = [sys.executable, "-c", AS_NOBODY, str(folder)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "good" in ran.stdout and "bad" in ran.stdout


def test_a_mistake_of_ours_in_one_folder_is_told_too(
    two_results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("bad", "good"):
        shutil.copytree(two_results / "one", tmp_path / name)
    read = catalogue_module.read_listed

    def breaks(place: catalogue_module.Place) -> object:
        if place.name == "bad":
            raise ZeroDivisionError("a bug")
        return read(place)

    monkeypatch.setattr(catalogue_module, "read_listed", breaks)
    found = Catalogue([tmp_path]).listing(Query())
    assert [one.place.name for one in found.shown] == ["good"]
    assert found.left_out == [("bad", "it cannot be read: ZeroDivisionError: a bug")]


def test_any_value_anywhere(two_results: Path, tmp_path: Path) -> None:
    original = tmp_path / "original"
    shutil.copytree(two_results / "one", original)
    change_tags(original, {"kernel": "6.12"}, [], "a note")
    (tmp_path / "runs").mkdir()
    names = damaged(original, tmp_path / "runs", VALUES)
    with Lab([tmp_path / "runs"]) as lab:
        for page in range(1, len(names) // PAGE_ROWS + 2):
            assert lab.ask(f"/?page={page}").status == 200
        listing = lab.catalogue.listing(Query())
        assert listing.total + listing.left_out_count == len(names)
        for asked in ("?sort=mean", "?sort=name", "?q=x", "?limits=kept", "?verdict=flat"):
            assert lab.ask(f"/{asked}").status == 200
