"""A cache writes what is dirty to the disk that it is of, and to no other: found by what the kernel calls it and by
what it holds, never by its path alone.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import pytest
from cachelab import MIB, CacheLab

from flatwater.cache import identity

BLOCK = 16384


#: LOOP_CTL_ADD and LOOP_CTL_REMOVE, linux/loop.h.
_ADD, _REMOVE = 0x4C80, 0x4C81


class Loops:
    """Loop devices on files of a folder, with numbers that nobody else is given: one that is let go stays ours."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._made: set[int] = set()

    def file(self, name: str, mib: int, content: bytes | None = None) -> Path:
        path = self.folder / name
        path.write_bytes(content or b"")
        os.truncate(path, mib * MIB)
        return path

    def attach(self, file: Path, device: str | None = None) -> str:
        device = device or self._new()
        subprocess.run(["losetup", device, str(file)], capture_output=True, check=True)
        return device

    def _new(self) -> str:
        with Path("/dev/loop-control").open("rb") as control:
            number = next(one for one in range(1000, 9000) if _is_new(control, one))
        self._made.add(number)
        node = Path(f"/dev/loop{number}")
        if not node.exists():
            os.mknod(node, 0o660 | stat.S_IFBLK, os.makedev(7, number))
        return str(node)

    def detach(self, device: str) -> None:
        subprocess.run(["losetup", "--detach", device], check=True)

    def close(self) -> None:
        for number in self._made:
            subprocess.run(["losetup", "--detach", f"/dev/loop{number}"], capture_output=True)
            with Path("/dev/loop-control").open("rb") as control, suppress(OSError):
                fcntl.ioctl(control, _REMOVE, number)


def _is_new(control: BinaryIO, number: int) -> bool:
    """Adds a loop device of this number. False: there is one, perhaps of another process that looked when we did."""
    try:
        fcntl.ioctl(control, _ADD, number)
    except FileExistsError:
        return False
    return True


@pytest.fixture
def loops(caches: CacheLab) -> Iterator[Loops]:
    if os.geteuid() != 0 or not Path("/dev/loop-control").exists():
        pytest.skip("loop devices take root")
    found = Loops(caches.folder)
    yield found
    found.close()


def _dirty(caches: CacheLab, blocks: int = 64, *, first: int = 0) -> bytes:
    """Writes through the mount, from `first` on; stopped with all of it dirty."""
    data = os.urandom(blocks * BLOCK)
    with caches.device.open("r+b") as handle:
        handle.seek(first * BLOCK)
        handle.write(data)
        handle.flush()
        os.fsync(handle.fileno())
    assert caches.go("stop", "db")["dirty_blocks"] == blocks
    return data


def _refused(caches: CacheLab, *options: str | Path) -> str:
    caches.mount.mkdir(exist_ok=True)
    said = {caches.refused("start", "db", "--mount", caches.mount, *options), caches.refused("drain", "db")}
    assert len(said) == 1, said
    assert caches.status()["problem"] is not None and caches.status()["safe_to_unplug"] is not True
    assert caches.run("check", "db").code == 2
    return said.pop()


@pytest.mark.parametrize("content", [None, b"some other disk's content" * 1000], ids=["zeros", "content"])
def test_another_loop_file_of_equal_size_is_refused_and_not_written(
    mounted: CacheLab, loops: Loops, content: bytes | None
) -> None:
    mine, other = loops.file("mine", 64), loops.file("other", 64, content)
    fast, backing = loops.attach(loops.file("fastfile", 24)), loops.attach(mine)
    mounted.go("create", fast, backing, "--name", "db", "--set", "sequential_bytes=0")
    mounted.start()
    data = _dirty(mounted)
    loops.detach(backing)
    loops.attach(other, backing)
    before = other.read_bytes()
    said = _refused(mounted)
    assert "it is another device" in said and "--trust-backing" in said
    assert other.read_bytes() == before, "another disk was written"
    # The right one, under another name: it is found, and told.
    elsewhere = loops.attach(mine)
    assert elsewhere != backing
    ran = mounted.run("drain", "db")
    assert ran.code == 0 and f"is {elsewhere} now; it was {backing}" in ran.stderr, ran
    loops.detach(elsewhere)
    assert mine.read_bytes()[: len(data)] == data and other.read_bytes() == before


def test_a_cache_device_that_was_renamed_is_found(mounted: CacheLab, loops: Loops) -> None:
    cache_file = loops.file("fastfile", 24)
    fast, backing = loops.attach(cache_file), loops.attach(loops.file("mine", 64))
    mounted.go("create", fast, backing, "--name", "db", "--set", "sequential_bytes=0")
    mounted.start()
    _dirty(mounted)
    loops.detach(fast)
    loops.attach(loops.file("other", 24), fast)
    elsewhere = loops.attach(cache_file)
    assert mounted.status()["dirty_blocks"] == 64
    mounted.start()
    assert mounted.status()["fast"] == elsewhere, "it is kept"
    assert mounted.go("stop", "db", "--drain")["dirty_blocks"] == 0


@pytest.mark.parametrize("content", [None, b"precious" * 4096], ids=["zeros", "content"])
def test_a_copied_pair_file_beside_another_file_is_refused(
    mounted: CacheLab, monkeypatch: pytest.MonkeyPatch, content: bytes | None
) -> None:
    mounted.make()
    mounted.start()
    _dirty(mounted)
    other = mounted.folder / "other"
    other.write_bytes(content or b"")
    os.truncate(other, 64 * MIB)
    before = other.read_bytes()
    shutil.copy(f"{mounted.backing}.flatwater-pair", f"{other}.flatwater-pair")
    # In the place of the right one.
    mounted.backing.rename(mounted.folder / "right")
    other.rename(mounted.backing)
    assert "it is another file" in _refused(mounted)
    mounted.backing.rename(other)
    # Named to a flatwater that knows nothing of it.
    monkeypatch.setenv("FLATWATER_STATE_DIR", str(mounted.folder / "state" / "elsewhere"))
    said = mounted.refused("start", mounted.fast, "--backing", other, "--mount", mounted.mount)
    assert "the cache was made for another one" in said
    assert other.read_bytes() == before


def _change(caches: CacheLab) -> None:
    with caches.backing.open("r+b") as handle:
        for at in range(0, 64 * MIB, 4096):
            handle.seek(at)
            handle.write(b"changed")


def test_a_backing_file_that_was_written_meanwhile_is_refused_until_it_is_trusted(mounted: CacheLab) -> None:
    mounted.make()
    # As long as the cache is empty, nothing can be mixed up.
    mounted.backing.write_bytes(os.urandom(64 * MIB))
    mounted.start()
    mounted.go("preload", "db", "0..2MiB")
    data = _dirty(mounted, first=512)
    _change(mounted)
    assert "is not as it was left" in _refused(mounted)
    mounted.go("start", "db", "--mount", mounted.mount, "--trust-backing")
    with mounted.device.open("rb") as handle:
        assert handle.read(7) == b"changed", "what was clean is not believed"
        handle.seek(512 * BLOCK)
        assert handle.read(len(data)) == data, "what was dirty is"
    mounted.go("stop", "db", "--drain")
    mounted.start()
    mounted.go("stop", "db")


def test_a_backing_file_that_grew_is_told_and_refused(mounted: CacheLab) -> None:
    mounted.make()
    mounted.start()
    _dirty(mounted)
    os.truncate(mounted.backing, 80 * MIB)
    assert "it grew: 83886080 B, and the cache was made for 67108864 B" in _refused(mounted)
    mounted.go("drain", "db", "--trust-backing")
    os.truncate(mounted.backing, 64 * MIB)
    mounted.start()
    mounted.go("stop", "db")


@pytest.mark.parametrize("how", ["serving_process", "both"])
def test_the_right_disk_is_never_refused_after_a_crash(mounted: CacheLab, how: str) -> None:
    """All of the backing file is written, by write-back and past the cache, and what serves is killed in the middle."""
    mounted.make("--block-size", "64KiB", "--set", "dirty_high_pct=10", "--set", "dirty_low_pct=0")
    mounted.start()
    for round_ in range(3):
        with mounted.device.open("r+b") as handle:
            for at in range(0, 64 * MIB, MIB):
                handle.seek(at)
                handle.write(os.urandom(MIB))
                if at == 40 * MIB:
                    handle.flush()
                    os.fsync(handle.fileno())
                    if how == "serving_process":
                        mounted.kill("serving_process")
        if how == "both":
            mounted.close()
            mounted.start()
            assert mounted.run("status", "db").code == 0
        mounted.wait(state="serving")
        if round_ == 1:
            mounted.go("set", "db", "mode=write-through")
    mounted.close()
    assert mounted.run("check", "db").code == 0
    mounted.go("drain", "db")
    mounted.start()
    mounted.go("stop", "db")


def test_a_cache_without_identities_starts_and_has_them_then(mounted: CacheLab) -> None:
    """As an older version made it."""
    import json

    mounted.make()
    path = mounted.state_dir / "lasting" / "db" / "state.json"
    kept = json.loads(path.read_text())
    assert kept.pop("fast_identity") and kept.pop("backing_identity")
    path.write_text(json.dumps(kept))
    with mounted.fast.open("r+b") as handle:
        for at in (32 * 1024, 96 * 1024):
            handle.seek(at)
            handle.write(bytes(4096))
    mounted.start()
    mounted.go("preload", "db", "all")
    mounted.go("stop", "db")
    assert json.loads(path.read_text())["backing_identity"]
    _change(mounted)
    assert "is not as it was left" in _refused(mounted)


def test_identities_of_files_and_devices(loops: Loops) -> None:
    mine, other = loops.file("mine", 8), loops.file("other", 8)
    told = [identity.identity_of(path) for path in (mine, other, loops.attach(mine), loops.attach(other))]
    for nth, one in enumerate(told):
        assert one is not None and identity.in_words(one)
        for at, another in enumerate(told):
            assert another is not None
            assert identity.is_same(one, another) == (nth == at), (one, another)
        assert identity.differs(identity.read_digests(identity.digests(one)), identity.digested(one)) is None
        assert len(identity.digests(one)) <= 180
    assert identity.identity_of(loops.folder / "no") is None and identity.identity_of("/dev/null") is None


@pytest.mark.parametrize(
    ("kept", "now", "same", "kind"),
    [
        ({"wwid": "a", "part": "0"}, {"wwid": "a", "part": "0", "serial": "x"}, True, None),
        ({"wwid": "a", "part": "0"}, {"wwid": "a", "part": "1", "partuuid": "p"}, False, "part"),
        ({"serial": "a", "part": "0"}, {"serial": "b", "part": "0"}, False, "serial"),
        ({"part": "0"}, {"part": "0"}, False, None),
        ({}, {"wwid": "a"}, False, None),
        ({"inode": "1", "born": "5.0"}, {"inode": "1", "born": "6.0"}, False, "born"),
    ],
)
def test_what_both_know_decides(kept: dict[str, str], now: dict[str, str], same: bool, kind: str | None) -> None:
    assert (identity.is_same(kept, now), identity.differs(kept, now)) == (same, kind)


def test_a_disk_is_found_by_what_the_kernel_calls_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of several that look alike none is taken."""
    serials: dict[str, str] = {}
    real: Callable[[int, int], dict[str, str]] = identity._of_device

    def of_device(major: int, minor: int) -> dict[str, str]:
        return {"serial": serials.get(f"{major}:{minor}", "-"), "part": "0"}

    numbers = [path.read_text().strip() for path in sorted(Path("/sys/class/block").glob("*/dev"))]
    if len(numbers) < 2:
        pytest.skip("this machine has too few block devices")
    monkeypatch.setattr(identity, "_of_device", of_device)
    serials[numbers[0]] = "S1"
    found = identity.find_device({"serial": "S1", "part": "0"})
    assert found is None or found.is_block_device()
    serials[numbers[1]] = "S1"
    assert identity.find_device({"serial": "S1", "part": "0"}) is None
    assert real is not of_device
