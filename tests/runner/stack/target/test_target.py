"""Nothing is destroyed: whatever flatwater did not make itself is refused, and untouched."""

from __future__ import annotations

import json
import os
import shutil
import signal
import struct
import subprocess
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from lab import MIB, Lab, Ran

from flatwater.owned import Witness


def refused(ran: Ran, *words: str) -> str:
    """Exit 2, one line that says each of the words, no result folder, and nothing on standard output."""
    assert (ran.code, ran.stdout) == (2, ""), ran
    for word in words:
        assert word in ran.error
    assert not ran.out.exists(), "a refused run leaves nothing behind"
    return ran.error


class TestPaths:
    def test_missing_with_its_parent(self, lab: Lab) -> None:
        path = lab.folder / "no" / "such" / "place"
        refused(lab.go(storage={"path": str(path)}), str(path), "does not exist", "hint: mkdir -p")

    def test_a_new_file_is_made(self, lab: Lab) -> None:
        path = lab.data / "new"
        assert lab.go(storage={"path": str(path)}).code == 0
        assert path.stat().st_size == 8 * MIB
        assert path.stat().st_mode & 0o077 == 0, "nobody else's business"
        assert lab.go(storage={"path": str(path)}).code == 0, "and is ours from then on"

    def test_a_fifo(self, lab: Lab) -> None:
        os.mkfifo(lab.data / "fifo")
        refused(lab.go(storage={"path": str(lab.data / "fifo")}), "neither a directory nor a file nor a block device")

    def test_a_character_device(self, lab: Lab) -> None:
        refused(lab.go(storage={"path": "/dev/null", "overwrite": True}), "neither a directory nor a file")

    def test_a_path_through_a_file(self, lab: Lab) -> None:
        (lab.data / "file").touch()
        refused(lab.go(storage={"path": str(lab.data / "file" / "below")}), "Not a directory")

    def test_a_name_too_long(self, lab: Lab) -> None:
        refused(lab.go(storage={"path": str(lab.data / ("x" * 300))}), "File name too long")

    def test_a_link_that_leads_nowhere(self, lab: Lab) -> None:
        (lab.data / "link").symlink_to(lab.folder / "nowhere" / "at all")
        refused(lab.go(storage={"path": str(lab.data / "link")}), "is a link to", "which is not there")
        (lab.folder / "nowhere").mkdir()
        refused(lab.go(storage={"path": str(lab.data / "link")}), "is a link to", "which is not there")
        assert [one.name for one in lab.data.iterdir()] == ["link"], "no manifest of what was not made"

    def test_without_a_path(self, lab: Lab) -> None:
        file = lab.write()
        file.write_text('[workload]\nmode = "rndrd"\n')
        refused(lab.run(file), "storage.path is missing", "--set storage.path=DIR")

    def test_several_files_in_one_file(self, lab: Lab) -> None:
        ran = lab.go({"files": 3}, {"path": str(lab.data / "one")})
        refused(ran, "workload.files = 3", "give a directory")

    def test_a_read_only_file_system(self, lab: Lab, mount: Callable[..., Path]) -> None:
        place = mount("none", "-t", "tmpfs", "-o", "ro,size=16m")
        refused(lab.go(storage={"path": str(place)}), "is not writable")
        refused(lab.go(storage={"path": str(place / "new")}), "is not writable")

    def test_an_immutable_directory(self, lab: Lab, as_root: None, undo: ExitStack) -> None:
        """Root may write anywhere by its permissions; some directories still refuse."""
        made = subprocess.run(["chattr", "+i", lab.data], capture_output=True, check=False)
        if made.returncode != 0:
            pytest.skip("this file system has no immutable flag")
        undo.callback(subprocess.run, ["chattr", "-i", lab.data], check=True)
        ran = lab.go()
        assert ran.code in (1, 2)
        assert "Operation not permitted" in ran.error or "not writable" in ran.error

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
    def test_an_unwritable_directory(self, lab: Lab) -> None:
        lab.data.chmod(0o500)
        refused(lab.go(), "is not writable")


class TestPlacesThatAreNoStorage:
    @pytest.mark.parametrize("name", ["nvme9n1", "disk/by-id/nvme-nothing", "."])
    def test_a_device_that_was_mistyped_is_no_file(self, lab: Lab, name: str) -> None:
        path = Path("/dev") / name
        before = sorted(Path("/dev").iterdir())
        ran = lab.go(storage={"path": str(path)})
        assert ran.code == 2 and ("is no block device" in ran.error or "does not exist" in ran.error), ran.error
        assert sorted(Path("/dev").iterdir()) == before

    def test_a_link_to_a_device_that_is_not_there(self, lab: Lab) -> None:
        (lab.data / "disk").symlink_to("/dev/nvme9n1")
        refused(lab.go(storage={"path": str(lab.data / "disk")}), "is no block device")
        assert not Path("/dev/nvme9n1").exists()

    def test_files_in_memory_are_told_of(self, lab: Lab, tmpfs: Callable[[int], Path]) -> None:
        place = tmpfs(32)
        ran = lab.go({"direct": False}, {"path": str(place)})
        told = [warning for warning in ran.summary.warnings if "is on tmpfs: its files are in memory" in warning]
        assert len(told) == 1
        assert lab.run(ran.out, verb="report").code == 0
        assert "its files are in memory" in (ran.out / "report.html").read_text()


class TestSizes:
    def test_zero(self, lab: Lab) -> None:
        refused(lab.go(storage={"size": 0}), "storage.size")

    def test_a_block_larger_than_the_file(self, lab: Lab) -> None:
        refused(lab.go({"block_size": "16MiB"}), "a block of 16 MiB is larger than a file", "experiment1.toml")

    def test_a_block_that_o_direct_cannot_do(self, lab: Lab) -> None:
        refused(lab.go({"block_size": 1000}), "not a multiple of 512", "direct = false")
        assert lab.go({"block_size": 1000, "direct": False}).code == 0

    def test_a_block_smaller_than_a_sector_of_the_device(
        self, lab: Lab, device: Callable[..., Path], undo: ExitStack
    ) -> None:
        small = device(64)
        if subprocess.run(["losetup", "--sector-size", "4096", small], capture_output=True, check=False).returncode:
            pytest.skip("this kernel's loop devices have no large sectors")
        ran = lab.go({"block_size": 512}, {"path": str(small), "overwrite": True})
        refused(ran, "4096 B sectors", "direct = false")

    def test_100_000_threads(self, lab: Lab) -> None:
        refused(lab.go({"threads": 100_000}), "100,000 threads", "4096")

    def test_1000_threads(self, lab: Lab) -> None:
        ran = lab.go({"threads": 1000, "duration_s": 0.5, "mode": "rndrd"})
        assert ran.code == 0, ran.stderr
        assert ran.cell["operations"] > 1000
        assert 500 <= ran.cell["metrics"]["workload.in_flight"]["max"] <= 1000


class TestFilesOfOthers:
    def test_are_refused_and_untouched(self, lab: Lab) -> None:
        path = lab.data / "flatwater-fileio.0000"
        path.write_bytes(b"precious" * 1000)
        refused(lab.go(), str(path), "was not made by flatwater", "storage.overwrite")
        assert path.read_bytes() == b"precious" * 1000
        assert [entry.name for entry in lab.data.iterdir()] == [path.name]

    def test_are_refused_by_their_own_path_too(self, lab: Lab) -> None:
        path = lab.data / "diary"
        path.write_bytes(bytes(16 * MIB))
        refused(lab.go(storage={"path": str(path)}), "was not made by flatwater")
        assert path.read_bytes() == bytes(16 * MIB)

    def test_are_used_when_the_user_says_so(self, lab: Lab) -> None:
        path = lab.data / "scratch"
        path.write_bytes(bytes(MIB))
        assert lab.go(storage={"path": str(path), "overwrite": True}).code == 0
        assert path.stat().st_size == 8 * MIB

    def test_may_be_read(self, lab: Lab) -> None:
        path = lab.data / "film"
        content = os.urandom(8 * MIB)
        path.write_bytes(content)
        before = path.stat()
        ran = lab.go({"mode": "rndrd"}, {"path": str(path)})
        assert ran.code == 0
        assert path.read_bytes() == content
        assert path.stat().st_mtime_ns == before.st_mtime_ns
        assert [entry.name for entry in lab.data.iterdir()] == ["film"]

    def test_a_file_that_was_ours_and_was_replaced(self, lab: Lab) -> None:
        assert lab.go().code == 0
        path = lab.data / "flatwater-fileio.0000"
        (lab.data / "other").write_bytes(b"precious")
        (lab.data / "other").replace(path)
        refused(lab.go(), "was not made by flatwater")
        assert path.read_bytes() == b"precious"

    @pytest.mark.parametrize("at", ["", "data.bin"])
    def test_a_file_that_took_the_inode_of_ours_is_not_ours(
        self, lab: Lab, device: Callable[..., Path], mount: Callable[..., Path], at: str
    ) -> None:
        """ext4 gives the inode of what was deleted to what is made next."""
        place = mount(device(64, "ext4"))
        path = place / (at or "flatwater-fileio.0000")
        reused = False
        for _ in range(5):
            assert lab.go(storage={"path": str(place / at), "overwrite": False}).code == 0
            inode = path.stat().st_ino
            path.unlink()
            path.write_bytes(b"precious")
            reused |= path.stat().st_ino == inode
            refused(lab.go(storage={"path": str(place / at)}), "was not made by flatwater")
            assert path.read_bytes() == b"precious"
            path.unlink()
        assert reused, "ext4 did not do what this test is about"

    @pytest.mark.parametrize("asked", [{"mode": "rndwr"}, {"mode": "rndrd", "precondition_passes": 1}])
    def test_a_file_of_ours_that_somebody_wrote_to_since(self, lab: Lab, asked: dict[str, object]) -> None:
        assert lab.go().code == 0
        path = lab.data / "flatwater-fileio.0000"
        (lab.folder / "thesis").write_bytes(b"precious" * MIB)
        shutil.copyfile(lab.folder / "thesis", path)  # in place: the inode and its mark stay
        refused(lab.go(asked), "something else wrote to it since", "storage.overwrite")
        assert path.read_bytes() == b"precious" * MIB
        assert lab.go({"mode": "rndrd"}).code == 0, "reading it harms nothing"
        stamping = lab.go({"mode": "rndrd", "verify": True})
        assert stamping.code == 2 and "something else wrote to it since" in stamping.error
        assert path.read_bytes() == b"precious" * MIB
        assert lab.go(asked, {"overwrite": True}).code == 0
        assert lab.go(asked).code == 0, "and it is ours again"

    @pytest.mark.parametrize("written", ["of another length", "later"])
    def test_a_file_that_somebody_wrote_to_after_a_kill(self, lab: Lab, written: str) -> None:
        file = lab.write({"mode": "rndwr", "duration_s": 60})
        run = lab.start(file)
        run.until_recorded(3)
        ran = run.send(signal.SIGKILL)
        path = lab.data / "flatwater-fileio.0000"
        again = lab.write({"mode": "rndwr"})
        if written == "later":
            assert lab.run(again, out=lab.folder / "between").code == 0, "what was only killed is gone on with"
            run = lab.start(file, out=lab.folder / "killed later")
            run.until_recorded(3)
            ran = run.send(signal.SIGKILL)
            long_ago = path.stat().st_mtime - 3600
            os.utime(lab.data / "flatwater-fileio.json", (long_ago, long_ago))  # as if an hour had gone by
        content = b"precious" * (MIB if written == "later" else 1000)
        path.write_bytes(content)
        refused(lab.run(again, out=lab.folder / "after"), "something else wrote to it since")
        assert lab.run(file, "--resume", out=ran.out).code in (1, 2)
        assert path.read_bytes() == content

    @pytest.mark.parametrize("leads_to", ["thesis", "absent"])
    def test_a_link_in_the_place_of_a_file_is_not_followed(self, lab: Lab, leads_to: str) -> None:
        (lab.folder / "thesis").write_bytes(b"precious")
        (lab.data / "flatwater-fileio.0000").symlink_to(lab.folder / leads_to)
        for storage in ({}, {"overwrite": True}):
            refused(lab.go(storage=storage), "is a link")
        assert (lab.folder / "thesis").read_bytes() == b"precious" and not (lab.folder / "absent").exists()

    @pytest.mark.parametrize(
        ("workload", "storage"),
        [
            ({"files": 2}, {}),
            ({"files": 2, "mode": "rndrd"}, {}),
            ({"files": 4, "mode": "rndrd", "verify": True}, {"keep": False}),
        ],
        ids=["fewer files", "fewer files, read", "not to be kept"],
    )
    def test_a_file_of_ours_that_somebody_wrote_to_is_not_deleted(
        self, lab: Lab, workload: dict[str, object], storage: dict[str, object]
    ) -> None:
        assert lab.go({"files": 4, "verify": True}).code == 0
        path = lab.data / "flatwater-fileio.0003"
        shutil.copyfile(__file__, path)  # in place: the inode and its mark stay
        ran = lab.go(workload, storage)
        assert ran.code in (0, 1, 2), ran
        assert path.read_bytes() == Path(__file__).read_bytes()

    @pytest.mark.parametrize("keep", [True, False])
    def test_a_file_that_takes_the_manifests_name_in_the_run_stays(self, lab: Lab, keep: bool) -> None:
        run = lab.start(lab.write({"duration_s": 60}, {"keep": keep}))
        run.until_recorded(2, phase="measure")
        manifest = lab.data / "flatwater-fileio.json"
        manifest.unlink()
        manifest.write_text("precious")
        run.send(signal.SIGINT)
        assert manifest.read_text() == "precious"

    def test_a_file_that_was_given_to_it_is_never_deleted(self, lab: Lab) -> None:
        path = lab.data / "scratch"
        path.write_bytes(bytes(MIB))
        assert lab.go(storage={"path": str(path), "overwrite": True, "keep": False}).code == 0
        assert path.stat().st_size == 8 * MIB
        assert sorted(one.name for one in lab.data.iterdir()) == ["scratch"], "but the manifest is"

    def test_a_manifest_of_an_older_flatwater_proves_nothing(self, lab: Lab) -> None:
        assert lab.go().code == 0
        manifest = lab.data / "flatwater-fileio.json"
        content = json.loads(manifest.read_text())
        info = (lab.data / "flatwater-fileio.0000").stat()
        entry = {"name": "flatwater-fileio.0000", "device": info.st_dev, "inode": info.st_ino}
        manifest.write_text(json.dumps(content | {"files": [entry]}))
        refused(lab.go(), "was not made by flatwater")

    def test_a_damaged_manifest_is_no_permission(self, lab: Lab) -> None:
        assert lab.go().code == 0
        for text in ("", "{}", "null", "[" * 100_000, '{"kind": "flatwater-prepared", "files": 7}', "\0\xff"):
            (lab.data / "flatwater-fileio.json").write_text(text, encoding="latin-1")
            refused(lab.go(), "flatwater-fileio.json is damaged", "delete")

    def test_files_are_not_reached_through_a_hostile_manifest(self, lab: Lab) -> None:
        """Its names are never followed out of the directory, and it deletes nothing there."""
        victim = lab.folder / "victim"
        victim.write_bytes(b"precious")
        assert lab.go().code == 0
        manifest = lab.data / "flatwater-fileio.json"
        with victim.open("rb") as handle:
            witness = Witness.put(handle.fileno()).model_dump()
        for name in ("../victim", str(victim), "..", ".", ""):
            content = json.loads(manifest.read_text())
            entry = {"name": name, "witness": witness}
            manifest.write_text(json.dumps(content | {"files": [*content["files"], entry]}))
            assert lab.go({"duration_s": 0.1}).code == 0
        assert victim.read_bytes() == b"precious"

    def test_a_manifest_of_another_user_does_not_say_whose_a_file_is(self, lab: Lab, as_root: None) -> None:
        """What a witness holds can be seen of anybody's file: whoever may write here could have given it this name."""
        path, victim = lab.data / "file", lab.folder / "victim"
        storage = {"path": str(path), "size": "1MiB"}
        assert lab.go({"mode": "rndwr", "duration_s": 0.1}, storage).code == 0
        path.rename(victim)
        path.symlink_to(victim)
        manifest, before = lab.data / "file.flatwater.json", victim.read_bytes()
        os.chown(manifest, 65534, 65534)
        refused(lab.go({"mode": "rndwr"}, storage), "was not made by flatwater")
        assert victim.read_bytes() == before
        os.chown(victim, 65534, 65534)
        assert lab.go({"mode": "rndwr", "duration_s": 0.1}, storage).code == 0, "of that user's own it does"


class TestTwoAtOnce:
    @pytest.mark.parametrize("name", ["", "file"])
    def test_the_second_is_refused(self, lab: Lab, name: str) -> None:
        storage = {"path": str(lab.data / name)}
        first = lab.start(lab.write({"duration_s": 60}, storage), "--json")
        first.until_recorded(1)
        refused(lab.go(storage=storage), "another flatwater is using")
        assert first.send(signal.SIGINT).code == 130
        assert lab.go(storage=storage).code == 0, "afterwards it is free"


class TestDevices:
    def test_with_a_mounted_file_system(
        self, lab: Lab, device: Callable[..., Path], mount: Callable[..., Path]
    ) -> None:
        path = device(32, "ext4")
        place = mount(path)
        (place / "letter").write_text("precious")
        ran = lab.go(storage={"path": str(path), "overwrite": True})
        refused(ran, f"{path} is in use", f"is mounted on {place}", "unmount")
        assert (place / "letter").read_text() == "precious"

    def test_with_a_mounted_btrfs(self, lab: Lab, device: Callable[..., Path], mount: Callable[..., Path]) -> None:
        """Its mounts carry a device number of their own."""
        path = device(128, "btrfs")
        mount(path)
        refused(lab.go(storage={"path": str(path), "overwrite": True}), "is in use", "is mounted on")

    @pytest.mark.parametrize(
        ("holds", "told"),
        [
            ("ext4", "ext4 (filesystem)"),
            pytest.param("xfs", "xfs", marks=pytest.mark.slow),
            ("btrfs", "btrfs"),
            ("swap", "swap"),
        ],
    )
    def test_with_someone_elses_data(self, lab: Lab, device: Callable[..., Path], holds: str, told: str) -> None:
        path = device(320 if holds == "xfs" else 128, holds)
        head = path.read_bytes()[: 2 * MIB]
        refused(lab.go(storage={"path": str(path)}), f"holds {told}", "would be destroyed", "storage.overwrite = true")
        assert path.read_bytes()[: 2 * MIB] == head

    def test_with_a_partition_table(self, lab: Lab, device: Callable[..., Path]) -> None:
        path = device(32)
        with path.open("rb+") as handle:
            handle.seek(446)  # one entry: type, first sector, sectors
            handle.write(struct.pack("<4xB3xII", 0x83, 2048, 8192) + bytes(48) + b"\x55\xaa")
        refused(lab.go(storage={"path": str(path)}), "holds a dos partition table")

    @pytest.mark.parametrize("engine", ["psync", "io_uring"])
    def test_is_used_when_the_user_says_so(self, lab: Lab, device: Callable[..., Path], engine: str) -> None:
        path = device(32, "ext4")
        ran = lab.go(
            {"engine": engine, "verify": True}, {"path": str(path), "overwrite": True, "size": 16 * MIB, "fill": 0.5}
        )
        assert ran.code == 0, ran.stderr
        assert ran.cell["layers"]["device"].startswith(str(path))
        assert path.read_bytes()[:8] == b"FLATWATR"
        assert not any(path.read_bytes()[9 * MIB : 12 * MIB]), "what is not used is not written"

    def test_a_sweep_prepares_a_device_once(self, lab: Lab, device: Callable[..., Path]) -> None:
        path = device(32)
        storage = {"path": str(path), "overwrite": True}
        ran = lab.go({"duration_s": 0.2}, storage, sweep={"workload.threads": [1, 2, 3]})
        assert ran.code == 0
        assert ran.stderr.count("\n  prepare") == 1

    def test_its_own_size_is_the_default(self, lab: Lab, device: Callable[..., Path]) -> None:
        path = device(32)
        file = lab.write({"mode": "rndrd"})
        file.write_text(
            f'[workload]\nmode = "rndrd"\nduration_s = 0.1\n[record]\ninterval_s = 0.1\n[storage]\npath = "{path}"\n'
        )
        assert lab.run(file).code == 0

    def test_a_size_larger_than_it(self, lab: Lab, device: Callable[..., Path]) -> None:
        path = device(32)
        ran = lab.go({"mode": "rndrd"}, {"path": str(path), "size": 64 * MIB})
        refused(ran, "64 MiB are more than the 32 MiB", "storage.size")

    def test_reading_harms_nothing(self, lab: Lab, device: Callable[..., Path]) -> None:
        path = device(32, "ext4")
        head = path.read_bytes()
        assert lab.go({"mode": "rndrd"}, {"path": str(path)}).code == 0
        assert path.read_bytes() == head

    def test_used_as_swap(self, lab: Lab, device: Callable[..., Path], undo: ExitStack) -> None:
        path = device(32, "swap")
        if subprocess.run(["swapon", path], capture_output=True, check=False).returncode != 0:
            pytest.skip("no swap can be added here")
        undo.callback(subprocess.run, ["swapoff", path], check=True)
        refused(lab.go(storage={"path": str(path), "overwrite": True}), "is in use", "is swap")
