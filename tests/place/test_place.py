"""What is found out about a file or device before anything is written to it."""

from __future__ import annotations

import os
import struct
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest

from flatwater.errors import UserError
from flatwater.place import Place, claim, contents, open_place, overlap, users
from flatwater.place.devices import loops_on

MIB = 2**20


def _file(path: Path, mib: int = 4) -> Path:
    with path.open("wb") as handle:
        handle.truncate(mib * MIB)
    return path


def _place(path: Path) -> Place:
    found = open_place(path, "FAST")
    assert found is not None
    return found


def _loop(undo: ExitStack, file: Path, *options: str) -> Path:
    made = subprocess.run(["losetup", "--find", "--show", *options, file], capture_output=True, text=True)
    if made.returncode:
        pytest.skip(f"no loop device can be made here: {made.stderr}")
    device = Path(made.stdout.strip())
    undo.callback(subprocess.run, ["losetup", "--detach", device], capture_output=True)
    return device


def test_a_file_is_known_by_what_it_is_not_by_its_name(tmp_path: Path) -> None:
    file = _file(tmp_path / "a")
    (tmp_path / "link").symlink_to(file)
    os.link(file, tmp_path / "hard")
    for other in ("link", "hard", "a"):
        same = overlap(_place(file), _place(tmp_path / other))
        assert same is not None and "are the same file" in same
    assert overlap(_place(file), _place(_file(tmp_path / "b"))) is None
    assert _place(tmp_path / "link").path == file.resolve()


def test_nothing_is_none_and_what_is_neither_file_nor_device_is_refused(tmp_path: Path) -> None:
    assert open_place(tmp_path / "no", "FAST") is None
    assert open_place(_file(tmp_path / "f") / "no", "FAST") is None
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path, tmp_path / "fifo", Path("/dev/null")):
        with pytest.raises(UserError, match="neither a file nor a block device"):
            open_place(path, "FAST")


def test_a_loop_device_on_the_same_file_is_the_same_storage(as_root: None, undo: ExitStack, tmp_path: Path) -> None:
    file = _file(tmp_path / "a")
    device = _loop(undo, file)
    same = overlap(_place(device), _place(file))
    assert same is not None and "stand on the same storage" in same
    assert [use.told for use in users(_place(file))] == [f"{device} is a loop device on it"]
    assert loops_on(_place(file).identity) == [str(device)]
    other = _loop(undo, device)
    same = overlap(_place(other), _place(file))
    assert same is not None, "through two loop devices"


def test_a_device_and_its_partition_overlap_and_two_partitions_do_not(
    as_root: None, undo: ExitStack, tmp_path: Path
) -> None:
    file = _file(tmp_path / "disk", 16)
    # Two Linux partitions of 4 MiB in a table of the old kind: type, first sector, sectors.
    entries = b"".join(struct.pack("<4xB3xII", 0x83, first, 8192) for first in (2048, 10240))
    with file.open("r+b") as handle:
        handle.seek(446)
        handle.write(entries + bytes(32) + b"\x55\xaa")
    device = _loop(undo, file, "--partscan")
    first, second = (Path(f"{device}p{number}") for number in (1, 2))
    if not (first.is_block_device() and second.is_block_device()):
        pytest.skip("this kernel makes no partitions of loop devices")
    same = overlap(_place(device), _place(first))
    assert same is not None and f"{first} is a part of {device}" in same
    assert overlap(_place(first), _place(second)) is None
    assert overlap(_place(file), _place(first)) is not None, "the file that it all lies in"


def test_a_mount_and_swap_are_told(as_root: None, device, mount, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    mounted = device(32, "ext4")
    where = mount(mounted)
    assert f"{mounted} is mounted on {where}" in [use.told for use in users(_place(mounted))]
    with pytest.raises(UserError, match="in use"):
        claim(_place(mounted), "FAST")
    free = device(8)
    assert users(_place(free)) == []


def test_what_is_on_a_place_is_named(as_root: None, device, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    held = contents(_place(device(32, "ext4", "-L", "precious")))
    assert held is not None and held.startswith("ext4") and 'label "precious"' in held and "UUID" in held
    assert (contents(_place(device(8, "swap"))) or "").startswith("swap")
    assert contents(_place(device(8))) is None, "zeros are nothing"


def test_a_file_of_holes_holds_nothing_and_one_with_a_byte_does(tmp_path: Path) -> None:
    file = _file(tmp_path / "a")
    assert contents(_place(file)) is None
    with file.open("r+b") as handle:
        handle.seek(2 * MIB)
        handle.write(b"x")
    assert contents(_place(file)) == "data of an unknown kind"


def test_a_claim_keeps_others_out_and_ends_with_its_descriptor(tmp_path: Path) -> None:
    place = _place(_file(tmp_path / "a"))
    handle = claim(place, "FAST")
    with pytest.raises(UserError, match="in use by another flatwater"):
        claim(place, "FAST")
    os.close(handle)
    os.close(claim(place, "FAST"))


def test_a_read_only_file_and_device_are_refused(as_root: None, undo: ExitStack, tmp_path: Path) -> None:
    device = _loop(undo, _file(tmp_path / "a"), "--read-only")
    with pytest.raises(UserError, match=r"read-only|cannot be written"):
        open_place(device, "FAST")


def test_a_file_that_may_not_be_written_is_refused(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write to every file")
    file = _file(tmp_path / "a")
    file.chmod(0o400)
    with pytest.raises(UserError, match="cannot be written"):
        open_place(file, "FAST")
