"""Runs whose result goes to a real S3 server."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from lab import Lab
from s3lab import READER, Bucket

import flatwater
from flatwater.errors import FlatwaterError
from flatwater.results import open_result
from flatwater.stores.upload import Upload

FILES = {"experiment.toml", "machine.json", "started.json", "summary.json", "flatwater.json", "uploaded.json"}
WHOLE = FILES | {"series.parquet", "histograms.parquet"}


def run(bucket: Bucket, experiment: Path, prefix: str, *options: str) -> Any:
    return bucket.call("run", experiment, "--out", bucket.url(prefix), "--jobs", "1", *options)


def test_a_run_is_uploaded_and_kept_here(bucket: Bucket, experiment: Path) -> None:
    done = run(bucket, experiment, "results/monday")
    assert done.code == 0, done.stderr
    assert f"result: {bucket.url('results/monday')}, and results/s3/{bucket.name}/results/monday" in done.stdout
    here = bucket.folder / "results" / "s3" / bucket.name / "results" / "monday"
    # Cells that were uploaded on their way are merged there, too.
    assert bucket.names() == {f"results/monday/{name}" for name in WHOLE}
    for name in WHOLE - {"uploaded.json"}:
        assert bucket.get(f"results/monday/{name}") == (here / name).read_bytes()
    assert open_result(here).manifest.status == "complete"


def test_a_run_of_many_experiments(bucket: Bucket, experiment: Path) -> None:
    other = experiment.with_name("other.toml")
    other.write_text(experiment.read_text().replace('"tiny"', '"other"'))
    done = bucket.call("run", experiment, other, "--all", "--out", bucket.url("all"), "--jobs", "1")
    assert done.code == 0, done.stderr
    assert {name.split("/")[1] for name in bucket.names()} == {
        *("tiny", "other", "experiments.json", "started.json", "uploaded.json")
    }
    listed = json.loads(bucket.call("ls", bucket.url("all"), "--json").stdout)
    assert {one["run"] for one in listed} == {bucket.url("all/tiny"), bucket.url("all/other")}


def test_from_python(bucket: Bucket, experiment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(bucket.folder)
    done = flatwater.run(experiment, out=bucket.url("py"))
    loaded = flatwater.load(bucket.url("py"))
    assert bucket.url("py") in repr(loaded)
    assert loaded.summary().equals(done.summary()) and loaded.status == "complete"


@pytest.mark.parametrize(
    "there", ["movie.mkv", "uploaded.json/x", "flatwater.json", ".hidden", "cells/0000/journal.jsonl"]
)
def test_a_place_with_something_else_is_refused_before_anything_is_measured(
    bucket: Bucket, experiment: Path, there: str
) -> None:
    bucket.put(f"x/{there}", b"of somebody else")
    refused = run(bucket, experiment, "x")
    assert refused.code == 2 and "holds other objects" in refused.error and there in refused.error
    assert bucket.names() == {f"x/{there}"} and bucket.get(f"x/{there}") == b"of somebody else"
    assert not (bucket.folder / "results").exists()


def test_beside_a_place_others_may_have_what_they_like(bucket: Bucket, experiment: Path) -> None:
    bucket.put("monday-old/x", b"of somebody else")
    assert run(bucket, experiment, "monday").code == 0


def test_a_place_with_a_run_is_refused(bucket: Bucket, experiment: Path) -> None:
    assert run(bucket, experiment, "x").code == 0
    before = {name: bucket.get(name) for name in bucket.names()}
    refused = run(bucket, experiment, "x")
    assert refused.code == 2 and "holds a run already" in refused.error
    assert f"flatwater resume {bucket.url('x')}" in refused.error
    assert {name: bucket.get(name) for name in bucket.names()} == before


def test_what_cannot_run_leaves_nothing_there(bucket: Bucket, experiment: Path) -> None:
    folder = bucket.folder / "results" / "s3" / bucket.name / "x"
    folder.mkdir(parents=True)
    (folder / "notes.txt").write_text("mine")
    refused = run(bucket, experiment, "x")
    assert refused.code == 2 and "not empty" in refused.error
    assert bucket.names() == set() and (folder / "notes.txt").read_text() == "mine"


def test_a_run_that_measures_nothing_leaves_the_place_free(
    bucket: Bucket, experiment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("flatwater.runner.executors.bench.Bench.run", _failing)
        failed = run(bucket, experiment, "x")
    assert failed.code == 1 and "no server here" in failed.error
    folder = bucket.folder / "results" / "s3" / bucket.name / "x"
    assert bucket.names() == set() and open_result(folder).manifest.status == "failed"
    assert run(bucket, experiment, "x").code == 0
    assert bucket.names() == {f"x/{name}" for name in WHOLE}


def _failing(*_: object) -> None:
    raise FlatwaterError("no server here")


class Stopped(Exception):
    """Stands for a kill."""


def killed_after(bucket: Bucket, experiment: Path, cells: int, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run that is killed after so many cells, all of which were uploaded; its folder."""
    count = 0

    def between(place: Any) -> None:
        nonlocal count
        place.upload.sync(whole=False)
        count += 1
        if count == cells:
            raise Stopped

    with monkeypatch.context() as patch:
        patch.setattr("flatwater.cli.stores.Place.between_cells", between)
        # A killed process does no more.
        patch.setattr("flatwater.cli.stores._upload_beside", lambda *_: None)
        with pytest.raises(Stopped):
            run(bucket, experiment, "x")
    return bucket.folder / "results" / "s3" / bucket.name / "x"


@pytest.mark.parametrize("verb", ["run", "resume"])
def test_another_machine_goes_on_with_what_is_there(
    bucket: Bucket, experiment: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, verb: str
) -> None:
    first = killed_after(bucket, experiment, 1, monkeypatch)
    assert {"x/flatwater.json", "x/cells/0000/summary.json", "x/uploaded.json"} <= bucket.names()
    cell = json.loads(bucket.get("x/cells/0000/summary.json"))
    bucket.folder = tmp_path / "elsewhere"
    bucket.folder.mkdir()
    done = run(bucket, experiment, "x", "--resume") if verb == "run" else bucket.call("resume", bucket.url("x"))
    assert done.code == 0, done.stderr
    assert bucket.names() == {f"x/{name}" for name in WHOLE}
    summary = json.loads(bucket.get("x/summary.json"))
    assert [one["cell"] for one in summary["cells"]] == [0, 1, 2] and summary["cells"][0]["mean"] == cell["mean"]
    # The first machine comes back: what the other did is not overwritten.
    bucket.folder = first.parents[3]
    refused = bucket.call("resume", bucket.url("x"))
    assert refused.code == 2 and "went on with it since" in refused.error
    assert json.loads(bucket.get("x/summary.json")) == summary


def test_a_killed_run_goes_on_in_its_own_folder(
    bucket: Bucket, experiment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = killed_after(bucket, experiment, 2, monkeypatch)
    done = bucket.call("resume", folder)
    assert done.code == 0, done.stderr
    assert bucket.names() == {f"x/{name}" for name in WHOLE}


def test_a_run_whose_place_another_took_goes_on_here(
    bucket: Bucket, experiment: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    taken: list[dict[str, bytes]] = []
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    sync = Upload.sync

    def taken_meanwhile(upload: Upload, **how: Any) -> bool:
        if not taken and not sync(upload, **how):
            return False
        if not taken:
            bucket.folder, here = elsewhere, bucket.folder
            with monkeypatch.context() as patch:
                patch.setattr(Upload, "sync", sync)
                assert bucket.call("resume", bucket.url("x")).code == 0
            bucket.folder = here
            taken.append({name: bucket.get(name) for name in bucket.names()})
            return True
        return sync(upload, **how)

    monkeypatch.setattr(Upload, "sync", taken_meanwhile)
    ended = run(bucket, experiment, "x")
    assert ended.code == 1 and "another call goes on with this one" in ended.error
    assert {name: bucket.get(name) for name in bucket.names()} == taken[0]
    folder = bucket.folder / "results" / "s3" / bucket.name / "x"
    assert open_result(folder).manifest.status == "complete" and str(folder.relative_to(bucket.folder)) in ended.error


def test_ctrl_c_in_a_real_run_and_another_machine_goes_on(bucket: Bucket, lab: Lab, tmp_path: Path) -> None:
    out = lab.folder / "results" / "s3" / bucket.name / "x"
    file = lab.write({"duration_s": 3600, "warmup_s": 0})
    running = lab.start(file, out=Path(bucket.url("x")))
    running.out = out
    running.until_recorded(3)
    stopped = running.send(signal.SIGINT)
    assert stopped.code == 130 and "what was measured is in" in stopped.error
    journal = bucket.get("x/cells/0000/journal.jsonl")
    assert journal == (out / "cells" / "0000" / "journal.jsonl").read_bytes()
    # The interrupted result is read as one, and goes on elsewhere with the seconds that it has.
    assert flatwater.load(bucket.url("x")).status == "interrupted"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    there = elsewhere / "results" / "s3" / bucket.name / "x"
    lab.folder = elsewhere
    running = lab.start(bucket.url("x"), verb="resume", out=there)
    running.until_recorded(journal.count(b'"phase":"measure"') + 3)
    again = running.send(signal.SIGINT)
    assert again.code == 130
    later = bucket.get("x/cells/0000/journal.jsonl")
    assert later.startswith(journal) and len(later) > len(journal)


def test_a_copy_is_whole_and_is_sent_once(bucket: Bucket, result: Path, tmp_path: Path) -> None:
    assert bucket.call("copy", result, bucket.url("deep/er/x")).code == 0
    modified = {one["Key"]: one["LastModified"] for one in _objects(bucket)}
    assert bucket.call("copy", result, bucket.url("deep/er/x")).code == 0
    again = {one["Key"]: one["LastModified"] for one in _objects(bucket)}
    # Only the list has been written again.
    assert {key for key in again if again[key] != modified[key]} <= {"deep/er/x/uploaded.json"}
    assert bucket.call("tag", result, "kernel=6.12").code == 0
    assert bucket.call("copy", result, bucket.url("deep/er/x")).code == 0
    back = bucket.call("copy", bucket.url("deep/er/x"), "back", "--json")
    assert back.code == 0 and json.loads(back.stdout) == {"result": "back"}, back.stderr
    for file in result.rglob("*"):
        if file.is_file() and file.name != "upload.json":
            assert (bucket.folder / "back" / file.relative_to(result)).read_bytes() == file.read_bytes()
    assert bucket.call("copy", bucket.url("deep/er/x"), "back").code == 2
    # A second place of the same folder.
    assert bucket.call("copy", result, bucket.url("second")).code == 0
    assert bucket.call("copy", result, bucket.url("deep/er/x")).code == 0


def _objects(bucket: Bucket) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = bucket.server.client().list_objects_v2(Bucket=bucket.name)["Contents"]
    return found


def test_links_and_what_is_half_written_stay_here(bucket: Bucket, result: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("nobody is sent this")
    (result / "link").symlink_to(secret)
    (result / ".flatwater-0123456789abcdef").write_text("half")
    (result / ".git").mkdir()
    (result / ".git" / "config").write_text("hidden")
    assert bucket.call("copy", result, bucket.url("x")).code == 0
    assert not {name for name in bucket.names() if "link" in name or "/." in name}


def test_a_reader_cannot_run(bucket: Bucket, experiment: Path, monkeypatch: pytest.MonkeyPatch, result: Path) -> None:
    assert bucket.call("copy", result, bucket.url("x")).code == 0
    bucket.server.allow_reading(bucket.name)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", READER[0])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", READER[1])
    refused = run(bucket, experiment, "y")
    assert refused.code == 2 and "may not do that" in refused.error and "measure" not in refused.stderr
    assert not (bucket.folder / "results").exists()
    assert bucket.call("report", bucket.url("x"), "--out", "x.html").code == 0
