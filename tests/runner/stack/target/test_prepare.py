"""Preparing: what is there is used, what was begun goes on, what does not fit is said before anything is written."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from lab import MIB, Lab

from flatwater.errors import FlatwaterError, UserError
from flatwater.experiment import print_size
from flatwater.owned import Witness
from flatwater.runner.stack.target import prepare
from flatwater.runner.stack.target.manifest import Prepared, PreparedFile
from flatwater.runner.stack.target.target import Target


def manifest(lab: Lab) -> dict[str, object]:
    found: dict[str, object] = json.loads((lab.data / "flatwater-fileio.json").read_text())
    return found


def prepares(stderr: str) -> bool:
    return "\n  prepare" in stderr


def has_holes(path: Path) -> bool:
    return path.stat().st_blocks * 512 < path.stat().st_size


def target_in(folder: Path, manifest: Path, files: list[PreparedFile]) -> Target:
    prepared = Prepared(set_id=1, files=files, file_bytes=4096, boot_id="", compressible_pct=0)
    return Target(folder, "directory", [folder / "one"], 4096, prepared, manifest, writable=True)


def test_new_files_that_no_manifest_can_name_are_not_left(tmp_path: Path) -> None:
    target = target_in(tmp_path, tmp_path / "gone" / "manifest", [])
    _, missing = prepare._entries(target)
    assert len(list(tmp_path.iterdir())) == 1
    with pytest.raises(FlatwaterError, match="cannot write"):
        prepare._publish(target, missing)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("link", [False, True])
def test_the_length_of_somebody_elses_file_is_left_alone(tmp_path: Path, link: bool) -> None:
    ours, theirs = tmp_path / "one", tmp_path / "theirs"
    with ours.open("w") as handle:
        known = PreparedFile(name="one", witness=Witness.put(handle.fileno()))
    theirs.write_text("precious")
    ours.unlink()
    if link:
        ours.symlink_to(theirs)
    else:
        theirs.rename(ours)
    with pytest.raises(FlatwaterError if link else UserError):
        prepare._set_length(target_in(tmp_path, tmp_path / "manifest", [known]), ours)
    assert ours.read_text() == "precious"


class TestReuse:
    def test_what_is_prepared_is_not_written_again(self, lab: Lab) -> None:
        assert prepares(lab.go({"mode": "rndrd"}).stderr)
        written = (lab.data / "flatwater-fileio.0000").stat().st_mtime_ns
        assert not prepares(lab.go({"mode": "rndrd"}).stderr)
        assert (lab.data / "flatwater-fileio.0000").stat().st_mtime_ns == written

    def test_a_larger_file_is_extended(self, lab: Lab) -> None:
        lab.go({"mode": "rndrd"})
        head = (lab.data / "flatwater-fileio.0000").read_bytes()
        assert prepares(lab.go({"mode": "rndrd"}, {"size": 16 * MIB}).stderr)
        data = (lab.data / "flatwater-fileio.0000").read_bytes()
        assert len(data) == 16 * MIB
        assert data[: len(head)] == head

    def test_a_deleted_file_is_written_again(self, lab: Lab) -> None:
        lab.go({"mode": "rndrd"})
        (lab.data / "flatwater-fileio.0000").unlink()
        assert prepares(lab.go({"mode": "rndrd"}).stderr)
        assert not has_holes(lab.data / "flatwater-fileio.0000")

    def test_a_file_that_was_cut_short_is_written_again(self, lab: Lab) -> None:
        lab.go({"mode": "rndrd"})
        os.truncate(lab.data / "flatwater-fileio.0000", 0)
        assert prepares(lab.go({"mode": "rndrd"}).stderr)
        assert not has_holes(lab.data / "flatwater-fileio.0000")

    def test_other_numbers_of_files_come_and_go(self, lab: Lab) -> None:
        ran = lab.go({"mode": "rndrd", "duration_s": 0.1}, sweep={"workload.files": [4, 1, 2, 3]})
        assert ran.code == 0, ran.stderr
        assert len(list(lab.data.glob("flatwater-fileio.0*"))) == 3
        assert lab.go({"mode": "rndrd", "duration_s": 0.1}).code == 0
        assert len(list(lab.data.glob("flatwater-fileio.0*"))) == 1, "what is not needed takes no space"

    def test_other_data_is_written_when_asked_for(self, lab: Lab) -> None:
        lab.go({"mode": "rndrd"})
        assert prepares(lab.go({"mode": "rndrd", "compressible_pct": 50}).stderr)
        assert not prepares(lab.go({"mode": "rndrd", "compressible_pct": 50}).stderr)

    def test_a_purge_empties_the_files(self, lab: Lab) -> None:
        lab.go({"mode": "rndrd"})
        lab.go({"mode": "rndwr", "rate_per_s": 100}, {"purge": True})
        assert has_holes(lab.data / "flatwater-fileio.0000")
        assert prepares(lab.go({"mode": "rndrd"}).stderr), "reads need data"
        assert not has_holes(lab.data / "flatwater-fileio.0000")

    def test_files_go_when_they_are_not_to_be_kept(self, lab: Lab) -> None:
        assert lab.go({"files": 2}, {"keep": False}).code == 0
        assert list(lab.data.iterdir()) == []


class TestKilled:
    @pytest.mark.slow
    def test_it_goes_on_from_the_mark(self, lab: Lab, device: Callable[..., Path], mount: Callable[..., Path]) -> None:
        size = 2000 * MIB
        # Every write waits for the disk: slow enough to be killed in the middle.
        place = mount(device(2300, "ext4"), "-o", "sync")
        marks = place / "flatwater-fileio.json"
        file = lab.write({"mode": "rndrd"}, {"path": str(place), "size": size})
        run = lab.start(file)
        run.until(lambda: marks.exists() and json.loads(marks.read_text())["done_bytes"] > 0)
        ran = run.send(signal.SIGKILL)
        assert ran.code == -signal.SIGKILL
        mark = json.loads(marks.read_text())["done_bytes"]
        assert 0 < mark < size
        data = place / "flatwater-fileio.0000"
        with data.open("rb+") as handle:
            handle.write(b"as it was left")
        after = lab.run(file, "--json", "--resume", out=ran.out)
        assert after.code == 0, after.stderr
        assert f"  {print_size(mark)} of {print_size(size)} are there already" in after.stderr
        assert json.loads(marks.read_text())["done_bytes"] == size
        with data.open("rb") as handle:
            assert handle.read(14) == b"as it was left", "what was done is not done again"
        assert not has_holes(data)

    def test_an_interrupted_one_goes_on_too(self, lab: Lab) -> None:
        file = lab.write({"mode": "rndrd"}, {"size": 2048 * MIB})
        run = lab.start(file, "--json")
        run.until(lambda: (lab.data / "flatwater-fileio.0000").exists())
        ran = run.send(signal.SIGINT)
        assert (ran.code, ran.at_once) == (130, True)
        assert "interrupted" in ran.error
        assert manifest(lab)["complete"] is False


class TestSpace:
    def test_is_looked_for_before_anything_is_written(self, lab: Lab, tmpfs: Callable[[int], Path]) -> None:
        place = tmpfs(64)
        ran = lab.go(storage={"path": str(place), "size": 200 * MIB})
        assert ran.code == 2
        assert "200 MiB more are needed" in ran.error and "64 MiB are free" in ran.error
        assert not ran.out.exists()
        assert list(place.iterdir()) == []

    def test_is_looked_for_before_the_first_cell_of_a_sweep(self, lab: Lab, tmpfs: Callable[[int], Path]) -> None:
        place = tmpfs(64)
        ran = lab.go(storage={"path": str(place), "size": 200 * MIB}, sweep={"storage.fill": [0.1, 0.5, 1.0]})
        assert ran.code == 2
        assert "200 MiB more are needed" in ran.error

    def test_files_that_are_there_need_no_more(self, lab: Lab, tmpfs: Callable[[int], Path]) -> None:
        place = tmpfs(64)
        for _ in range(2):
            assert lab.go({"direct": False}, storage={"path": str(place), "size": 40 * MIB}).code == 0

    def test_someone_else_fills_the_disk_meanwhile(self, lab: Lab, tmpfs: Callable[[int], Path]) -> None:
        place = tmpfs(300)
        run = lab.start(lab.write({"direct": False}, {"path": str(place), "size": 260 * MIB}), "--json")
        run.until(lambda: (place / "flatwater-fileio.0000").exists())
        other = place / "someone-elses"
        with suppress(OSError), other.open("wb") as handle:
            for _ in range(300):
                handle.write(bytes(MIB))
        ran = run.wait()
        assert ran.code == 1, ran
        assert "No space left on device" in ran.error and "goes on from there" in ran.error
        assert ran.result.manifest.status == "failed"
        assert lab.run(ran.out, verb="report").code == 0
        other.unlink()
        again = lab.go({"direct": False}, {"path": str(place), "size": 260 * MIB})
        assert again.code == 0, again.stderr

    def test_the_disk_fills_up_in_the_run(self, lab: Lab, tmpfs: Callable[[int], Path]) -> None:
        """Writes into holes allocate: the space that was free at the start goes to someone else."""
        place = tmpfs(128)
        asked = {"mode": "seqwr", "direct": False, "duration_s": 30, "block_size": "64KiB", "rate_per_s": 600}
        run = lab.start(lab.write(asked, {"path": str(place), "size": 96 * MIB, "purge": True}), "--json")
        run.until_recorded(2)
        with suppress(OSError), (place / "someone-elses").open("wb") as handle:
            for _ in range(128):
                handle.write(bytes(MIB))
        ran = run.wait()
        assert ran.code == 1, ran
        assert "No space left on device" in ran.error and "free space" in ran.error
        assert ran.summary.status == "failed"
        assert ran.summary.operations > 50
        assert len(ran.recorded.series("workload", "ops_per_s")) >= 2
        assert lab.run(ran.out, verb="report").code == 0

    def test_the_results_disk_fills_up(self, lab: Lab, tmpfs: Callable[[int], Path]) -> None:
        place = tmpfs(4)
        run = lab.start(lab.write({"duration_s": 30, "mode": "rndrd", "direct": False}), out=place / "result")
        run.until_recorded(3)
        with suppress(OSError), (place / "someone-elses").open("wb", buffering=0) as handle:
            while True:
                handle.write(bytes(4096))
        ran = run.wait()
        assert ran.code == 1, ran
        assert "cannot write the result: No space left on device" in ran.error
        assert len(ran.recorded.series("workload", "ops_per_s")) >= 3, "what was measured is there"
        (place / "someone-elses").unlink()
