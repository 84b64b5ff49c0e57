"""Who uses a file or a device is found, by whatever name it is used: a run, an emulation and a cache all refuse it."""

from __future__ import annotations

import fcntl
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from lab import MIB, Lab

from flatwater.errors import UserError
from flatwater.place import look_at, require_unused, users

#: The first sector of two partitions, and how long each is, sectors.
PARTITIONS, PARTITION_SECTORS = (2048, 67584), 65536


def told(path: Path) -> list[str]:
    """What is told of the users of a place."""
    place = look_at(path, "storage.path")
    assert place is not None
    return [use.told for use in users(place)]


def loop(undo: ExitStack, file: Path) -> Path:
    """A loop device on a file or another device."""
    made = subprocess.run(["losetup", "--find", "--show", file], capture_output=True, text=True)
    if made.returncode:
        pytest.skip(f"no loop device can be made here: {made.stderr}")
    device = Path(made.stdout.strip())
    undo.callback(subprocess.run, ["losetup", "--detach", device], check=True)
    return device


@pytest.fixture
def disk(as_root: None, undo: ExitStack, tmp_path: Path) -> tuple[Path, Path, Path]:
    """A disk and its two partitions."""
    file = tmp_path / "disk"
    with file.open("wb") as handle:
        handle.truncate(72 * MIB)
    device = loop(undo, file)
    for number, first in enumerate(PARTITIONS, 1):
        if subprocess.run(["addpart", device, str(number), str(first), str(PARTITION_SECTORS)]).returncode:
            pytest.skip("this kernel makes no partitions of loop devices")
    undo.callback(subprocess.run, ["partx", "--delete", device], capture_output=True)
    one, two = (Path(f"{device}p{number}") for number in (1, 2))
    return device, one, two


class TestSwap:
    def test_a_file_that_is_swap_is_told_as_such(self, lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
        file = lab.folder / "my swap"
        file.write_bytes(bytes(2**20))
        kernel = lab.folder / "swaps"
        name = str(file).replace(" ", "\\040")
        kernel.write_text(f"Filename\tType\tSize\tUsed\tPriority\n/dev/sdz1 partition 1 0 -1\n{name} file 1020 0 -2\n")
        monkeypatch.setattr(sys.modules["flatwater.place.users"], "SWAPS", kernel)
        link = lab.folder / "link"
        link.symlink_to(file)
        for path in (file, link):
            for overwrite in (False, True):
                ran = lab.go({"mode": "rndwr"}, {"path": str(path), "size": "512KiB", "overwrite": overwrite})
                assert ran.code == 2 and "is in use (it is swap)" in ran.error and f"swapoff {file}" in ran.error
        assert file.read_bytes() == bytes(2**20)

    @pytest.mark.skipif(shutil.which("mkswap") is None, reason="there is no mkswap on this machine")
    def test_the_kernel_is_asked(self, lab: Lab, as_root: None) -> None:
        file = lab.folder / "swap"
        file.write_bytes(bytes(4 * 2**20))
        file.chmod(0o600)
        subprocess.run(["mkswap", str(file)], check=True, capture_output=True)
        if subprocess.run(["swapon", str(file)], capture_output=True).returncode:
            pytest.skip("swap cannot be switched on here")
        try:
            ran = lab.go({"mode": "rndwr"}, {"path": str(file), "size": "1MiB"})
        finally:
            subprocess.run(["swapoff", str(file)], check=True)
        assert ran.code == 2 and "is in use (it is swap)" in ran.error

    def test_no_list_is_no_swap(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys.modules["flatwater.place.users"], "SWAPS", tmp_path / "absent")
        (tmp_path / "file").touch()
        assert told(tmp_path / "file") == []


class TestLoopDevices:
    @pytest.mark.parametrize("ours", [False, True])
    def test_a_file_below_one_is_not_written(
        self, lab: Lab, as_root: None, undo: ExitStack, mount: Callable[..., Path], ours: bool
    ) -> None:
        """Its mounted file system would be destroyed, which `storage.overwrite` of a file does not say."""
        file, link = lab.folder / "image", lab.folder / "link"
        file.write_bytes(bytes(16 * MIB))
        if ours:
            file.unlink()
            assert lab.go(storage={"path": str(file), "size": 16 * MIB}).code == 0
        link.symlink_to(file)
        device = loop(undo, file)
        subprocess.run(["mkfs.ext4", "-q", device], check=True)
        place = mount(device)
        (place / "thesis").write_text("precious")
        subprocess.run(["sync", "-f", place], check=True)
        before = file.read_bytes()
        for path in (file, link):
            ran = lab.go({"mode": "rndwr"}, {"path": str(path), "size": 8 * MIB, "overwrite": True})
            assert ran.code == 2 and f"is in use ({device} is a loop device on it)" in ran.error
        assert file.read_bytes() == before

    def test_a_device_below_a_mounted_one_is_not_written(
        self, lab: Lab, disk: tuple[Path, Path, Path], undo: ExitStack, mount: Callable[..., Path]
    ) -> None:
        """The partition itself is not mounted, and the kernel lets anybody claim it."""
        whole, one, two = disk
        upper = loop(undo, one)
        subprocess.run(["mkfs.ext4", "-q", upper], check=True)
        place = mount(upper)
        (place / "thesis").write_text("precious")
        subprocess.run(["sync", "-f", place], check=True)
        before = one.read_bytes()
        for path in (one, whole):
            ran = lab.go({"mode": "rndwr"}, {"path": str(path), "size": 8 * MIB, "overwrite": True})
            assert ran.code == 2 and f"{upper} is a loop device on it" in ran.error, ran.error
        assert one.read_bytes() == before
        assert told(two) == [], "the other partition is free"

    def test_two_on_one_file(self, as_root: None, undo: ExitStack, tmp_path: Path) -> None:
        (tmp_path / "image").write_bytes(bytes(8 * MIB))
        one, two = loop(undo, tmp_path / "image"), loop(undo, tmp_path / "image")
        assert told(one) == [f"{two} is a loop device on it"]
        assert told(two) == [f"{one} is a loop device on it"]

    def test_one_on_the_whole_disk_has_the_partitions_too(self, disk: tuple[Path, Path, Path], undo: ExitStack) -> None:
        whole, one, _ = disk
        upper = loop(undo, whole)
        assert told(one) == [f"{upper} is a loop device on it"]

    def test_by_a_name_that_is_gone(self, as_root: None, undo: ExitStack, tmp_path: Path) -> None:
        """The kernel tells the name by which the file was given: of the other one it says nothing."""
        (tmp_path / "image").write_bytes(bytes(8 * MIB))
        os.link(tmp_path / "image", tmp_path / "other")
        device = loop(undo, tmp_path / "image")
        (tmp_path / "image").unlink()
        assert told(tmp_path / "other") == [f"{device} is a loop device on it"]

    def test_a_file_that_took_the_name_is_free(self, as_root: None, undo: ExitStack, tmp_path: Path) -> None:
        (tmp_path / "image").write_bytes(bytes(8 * MIB))
        loop(undo, tmp_path / "image")
        (tmp_path / "image").rename(tmp_path / "moved")
        (tmp_path / "image").write_bytes(bytes(8 * MIB))
        assert told(tmp_path / "image") == []
        assert len(told(tmp_path / "moved")) == 1


def test_a_mounted_partition_is_a_use_of_its_disk_and_not_of_its_neighbour(
    disk: tuple[Path, Path, Path], mount: Callable[..., Path]
) -> None:
    whole, one, two = disk
    subprocess.run(["mkfs.ext4", "-q", one], check=True)
    place = mount(one)
    assert told(whole) == told(one) == [f"{one} is mounted on {place}"]
    assert told(two) == []


@pytest.mark.parametrize("command", [fcntl.F_SETLK, fcntl.F_OFD_SETLK])
def test_a_file_that_a_program_has_locked_is_in_use(lab: Lab, command: int) -> None:
    """As a database server locks its data, a virtual machine its disk, and a cache its devices."""
    file = lab.folder / "ibdata1"
    file.write_bytes(bytes(2 * MIB))
    lock = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    source = (
        "import fcntl, sys\n"
        f"held = open({str(file)!r}, 'r+b'); fcntl.fcntl(held, {command}, {lock!r})\n"
        "print(flush=True); sys.stdin.read()"
    )
    with subprocess.Popen([sys.executable, "-c", source], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        assert program.stdout is not None and program.stdin is not None
        program.stdout.readline()
        ran = lab.go({"mode": "rndwr"}, {"path": str(file), "size": "1MiB", "overwrite": True})
        told_of = f"process {program.pid}" if command == fcntl.F_SETLK else "another program"
        program.stdin.close()
    assert ran.code == 2 and "has locked it" in ran.error and told_of in ran.error
    assert file.read_bytes() == bytes(2 * MIB)
    assert told(file) == []


def test_what_is_asked_for_is_named_in_the_error(as_root: None, undo: ExitStack, tmp_path: Path) -> None:
    (tmp_path / "image").write_bytes(bytes(MIB))
    device = loop(undo, tmp_path / "image")
    place = look_at(tmp_path / "image", "--file")
    assert place is not None
    with pytest.raises(UserError, match=f"--file: .*is in use.*losetup -d {device} first, or choose another one"):
        require_unused(place, "--file")
