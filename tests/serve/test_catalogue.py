from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
import synthetic
from servelab import started_run, write_seconds

from flatwater.catalogue.find import DEPTH_MAX
from flatwater.results import open_result
from flatwater.results.tags import change_tags
from flatwater.serve import catalogue as catalogue_module
from flatwater.serve import folders
from flatwater.serve.app import STATUSES
from flatwater.serve.catalogue import NOT_OVER, PAGE_ROWS, Catalogue, Query
from flatwater.serve.folders import find_results, key_of
from flatwater.serve.writers import Writers


@pytest.fixture(autouse=True)
def never_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """What changed is seen at once."""
    monkeypatch.setattr(catalogue_module, "FRESH_S", 0.0)


def copies(sample: Path, folder: Path, count: int) -> None:
    """Many results, each with a title of its own; the later, the newer."""
    manifest = json.loads((sample / "flatwater.json").read_text())
    for number in range(count):
        place = folder / f"run-{number:05}"
        place.mkdir(parents=True)
        manifest |= {"title": f"Run number {number}", "created_at": f"2026-{1 + number % 12:02}-01T00:00:00+00:00"}
        (place / "flatwater.json").write_text(json.dumps(manifest))
        os.link(sample / "summary.json", place / "summary.json")
        os.link(sample / "experiment.toml", place / "experiment.toml")


def read_all(catalogue: Catalogue) -> None:
    for place in catalogue._newest():
        catalogue._one(place)


def listing(catalogue: Catalogue, **query: object) -> list[str]:
    catalogue.refresh()
    read_all(catalogue)
    return [one.place.name for one in catalogue.listing(Query(**query)).shown]  # type: ignore[arg-type]


def test_results_are_found_in_folders_of_folders(two_results: Path) -> None:
    assert {place.name for place in find_results([two_results])} == {"one", "all/fill"}
    both = {place.name for place in find_results([two_results / "all", two_results / "one"])}
    assert both == {"all/fill", "one"}


def test_folders_of_one_name_are_told_apart(two_results: Path, tmp_path: Path) -> None:
    roots = [tmp_path / where / "results" for where in ("a", "b", "b/c")]
    for root in roots:
        started_run(root / "run")
    roots.append(started_run(tmp_path / "a" / "alone").path)
    names = [place.name for place in find_results(roots)]
    assert names == ["a/results/run", "b/results/run", "c/results/run", "alone"]
    # One that is given twice, or that is below another, is found once.
    assert [place.name for place in find_results(roots[:1] * 2)] == ["results/run"]
    below = list(find_results([Path("/"), tmp_path, roots[0]]))
    assert len(below) == len({place.name for place in below}) == len({place.folder for place in below})
    # The name of a result that is served itself may be that of one below a folder.
    pairs = [tmp_path / "x" / "a", tmp_path / "y" / "a" / "run", tmp_path / "z" / "run"]
    for path in (pairs[0] / "run", *pairs[1:]):
        started_run(path)
    assert len({place.name for place in find_results(pairs)}) == 3


def test_no_link_is_followed_and_nothing_is_looked_for_too_deep(two_results: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(two_results / "one")
    (tmp_path / "loop").symlink_to(tmp_path)
    deep = tmp_path.joinpath(*["deeper"] * (DEPTH_MAX + 1))
    shutil.copytree(two_results / "one", deep)
    shutil.copytree(two_results / "one", tmp_path / ".hidden")
    assert list(find_results([tmp_path])) == []
    assert [place.path for place in find_results([deep])] == [deep]


def test_a_whole_disk_is_not_looked_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "FOLDERS_MAX", 10)
    for number in range(30):
        (tmp_path / str(number) / "below").mkdir(parents=True)
    synthetic.unfinished(tmp_path / "z-result")
    assert len(list(find_results([tmp_path]))) <= 1


def test_filters_search_and_order(two_results: Path) -> None:
    catalogue = Catalogue([two_results])
    assert set(listing(catalogue)) == {"one", "all/fill"}
    assert listing(catalogue, verdict="stalls") == ["one"]
    assert listing(catalogue, verdict="flat") == ["all/fill"]
    assert listing(catalogue, status="interrupted") == []
    assert listing(catalogue, limits="kept") == []
    assert listing(catalogue, text="FILL all") == ["all/fill"]
    assert listing(catalogue, text="nothing has this") == []
    assert listing(catalogue, sort="mean")[0] == "all/fill"
    found = catalogue.listing(Query())
    assert (found.total, found.unread, found.left_out) == (2, 0, [])
    assert found.verdicts == ["dips", "flat", "not steady", "stalls"]


def test_tags_are_found_as_soon_as_they_are_given(tmp_path: Path, two_results: Path) -> None:
    copies(two_results / "one", tmp_path, 3)
    catalogue = Catalogue([tmp_path])
    assert len(listing(catalogue)) == 3 and not catalogue.listing(Query()).tags
    change_tags(tmp_path / "run-00000", {"kernel": "6.1"})
    change_tags(tmp_path / "run-00001", {"kernel": "6.12", "host": "db1"})
    assert listing(catalogue, tag="kernel=6.12") == listing(catalogue, text="KERNEL=6.12") == ["run-00001"]
    assert set(listing(catalogue, text="kernel=")) == {"run-00000", "run-00001"}
    assert listing(catalogue, tag="kernel=6") == listing(catalogue, tag="kernel") == []
    assert catalogue.listing(Query()).tags == ["host=db1", "kernel=6.1", "kernel=6.12"]
    # What was asked for stays to be seen, also where no run has it.
    assert catalogue.listing(Query(tag="gone=1")).tags[0] == "gone=1"


def test_a_key_tells_nothing_and_is_no_path(two_results: Path) -> None:
    catalogue = Catalogue([two_results])
    found = catalogue.find(key_of(two_results / "one"))
    assert found is not None and found.place.name == "one"
    for wrong in ("one", "../one", str(two_results / "one"), "", "0" * 16):
        assert catalogue.find(wrong) is None


def test_what_cannot_be_read_is_left_out_with_its_reason(tmp_path: Path, two_results: Path) -> None:
    shutil.copytree(two_results / "one", tmp_path / "good")
    for name in ("half", "newer", "foreign", "no-summary", "fifo"):
        shutil.copytree(two_results / "one", tmp_path / name)
    (tmp_path / "half" / "flatwater.json").write_text('{"schema_ver')
    newer = json.loads((tmp_path / "newer" / "flatwater.json").read_text()) | {"schema_version": 99}
    (tmp_path / "newer" / "flatwater.json").write_text(json.dumps(newer))
    (tmp_path / "foreign" / "flatwater.json").write_text('{"kind": "something else"}')
    (tmp_path / "no-summary" / "summary.json").write_text('{"cells": [{"unit": 5}]}')
    (tmp_path / "fifo" / "flatwater.json").unlink()
    os.mkfifo(tmp_path / "fifo" / "flatwater.json")
    catalogue = Catalogue([tmp_path])
    assert listing(catalogue) == ["good"]
    found = catalogue.listing(Query())
    assert [name for name, _ in found.left_out] == ["fifo", "foreign", "half", "newer", "no-summary"]
    assert "newer than this flatwater" in dict(found.left_out)["newer"]
    assert all(why and "\n" not in why for _, why in found.left_out)
    # What was mended is shown.
    shutil.copy(two_results / "one" / "summary.json", tmp_path / "no-summary")
    assert set(listing(catalogue)) == {"good", "no-summary"}


def test_what_changes_is_read_again_and_what_goes_is_gone(tmp_path: Path, two_results: Path) -> None:
    shutil.copytree(two_results / "one", tmp_path / "one")
    catalogue = Catalogue([tmp_path])
    assert listing(catalogue) == ["one"]
    manifest = json.loads((tmp_path / "one" / "flatwater.json").read_text()) | {"title": "Another title"}
    (tmp_path / "one" / "flatwater.json").write_text(json.dumps(manifest))
    assert listing(catalogue, text="another title") == ["one"]
    shutil.rmtree(tmp_path / "one")
    assert listing(catalogue) == []


def test_one_that_is_asked_for_is_told_as_it_is_now(two_results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flatwater.serve.catalogue.FRESH_S", 60.0)
    catalogue = Catalogue([two_results])
    (one, *_) = catalogue.listing(Query()).shown
    result = open_result(one.place.path)
    result.write_manifest("interrupted")
    found = catalogue.find(one.place.key)
    assert one.status == "complete" and found is not None and found.status == "interrupted"


def test_each_is_read_once(tmp_path: Path, two_results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copies(two_results / "one", tmp_path, 5)
    read: list[str] = []
    whole = catalogue_module.read_listed
    monkeypatch.setattr(catalogue_module, "read_listed", lambda place: read.append(place.name) or whole(place))  # type: ignore[func-returns-value]
    catalogue = Catalogue([tmp_path])
    for _ in range(3):
        listing(catalogue)
    assert sorted(read) == [f"run-{number:05}" for number in range(5)]


def test_a_first_look_reads_only_what_it_shows(tmp_path: Path, two_results: Path) -> None:
    copies(two_results / "one", tmp_path, PAGE_ROWS + 7)
    catalogue = Catalogue([tmp_path])
    found = catalogue.listing(Query())
    assert len(found.shown) == PAGE_ROWS and found.total == PAGE_ROWS + 7
    assert found.unread == 7
    assert len(catalogue.listing(Query(page=2)).shown) == 7


def test_a_run_under_way_has_no_verdict_yet(tmp_path: Path) -> None:
    started_run(tmp_path / "run")
    catalogue = Catalogue([tmp_path])
    (one,) = catalogue.listing(Query()).shown
    assert (one.status, one.mean_text, one.verdicts) == ("running", "", {})
    assert [found.place.name for found in catalogue.running(Writers())] == ["run"]


@pytest.mark.slow
def test_ten_thousand_runs(tmp_path: Path, two_results: Path) -> None:
    copies(two_results / "one", tmp_path, 10_000)
    catalogue = Catalogue([tmp_path])
    first = catalogue.listing(Query())
    assert first.total == 10_000 and len(first.shown) == PAGE_ROWS
    assert len(listing(catalogue, text="number 777")) == 19  # by the title or the folder
    assert catalogue.listing(Query(page=200)).page == 200
    assert catalogue.listing(Query(page=10**8)).page == 200


def test_a_result_whose_manifest_is_a_link_is_left_out_with_the_reason(tmp_path: Path, two_results: Path) -> None:
    for name, target in (("other", two_results / "one" / "flatwater.json"), ("nowhere", tmp_path / "gone")):
        (tmp_path / "r" / name).mkdir(parents=True)
        (tmp_path / "r" / name / "flatwater.json").symlink_to(target)
    catalogue = Catalogue([tmp_path / "r"])
    found = catalogue.listing(Query())
    assert not found.shown and {name for name, _ in found.left_out} == {"other", "nowhere"}
    assert all("flatwater.json is a link" in why for _, why in found.left_out)


def test_a_run_that_was_killed_is_not_running(tmp_path: Path) -> None:
    dead, alive = (started_run(tmp_path / name) for name in ("dead", "alive"))
    for result in (dead, alive):
        write_seconds(result, 0, 3)
    for file in (dead.path / "flatwater.json", dead.cells[0].journal):
        os.utime(file, (0, 0))
    catalogue = Catalogue([tmp_path])
    catalogue.listing(Query())  # what it shows is read
    found = {status: [one.place.name for one in catalogue.listing(Query(status=status)).shown] for status in STATUSES}
    assert {status: names for status, names in found.items() if names} == {"running": ["alive"], NOT_OVER: ["dead"]}
