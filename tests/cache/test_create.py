"""Making a cache: what is refused before anything is written, and what is made."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from cachelab import MIB, CacheLab


def _file(path: Path, mib: int = 64) -> Path:
    with path.open("wb") as handle:
        handle.truncate(mib * MIB)
    return path


def _content(*paths: Path) -> list[bytes | None]:
    return [path.read_bytes() if path.exists() else None for path in paths]


def test_a_cache_is_made_and_told(caches: CacheLab) -> None:
    told = caches.make("--block-size", "4KiB", "--preset", "vcache", "--set", "dirty_high_pct=60")
    assert told["block_bytes"] == 4096 and told["fast_bytes"] == 16 * MIB and told["slow_bytes"] == 64 * MIB
    assert told["settings"]["policy"] == "lru" and told["settings"]["dirty_high_pct"] == 60
    assert caches.fast.stat().st_blocks * 512 >= 16 * MIB, "its space is reserved"
    status = caches.status()
    assert (status["state"], status["running"]) == ("stopped", False)
    assert (status["dirty_blocks"], status["safe_to_unplug"]) == (0, True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--name", "a/b", "--size", "16MiB"], "--name: 'a/b' is no name"),
        (["--name", "db", "--size", "0"], "--size: must be more than 0 bytes"),
        (["--name", "db", "--size", "much"], "is not a size"),
        (["--name", "db", "--size", "64KiB"], "too small for a cache"),
        (["--name", "db", "--size", "16EiB"], "--size"),
        (["--name", "db", "--size", "1000TiB"], "are more than the"),
        (["--name", "db"], "does not exist (hint: --size"),
        (["--name", "db", "--size", "16MiB", "--block-size", "3000"], "blocks of 3000 B cannot be"),
        (["--name", "db", "--size", "16MiB", "--block-size", "1MiB"], "cannot be"),
        (["--name", "db", "--size", "16MiB", "--preset", "bcache"], "there is no preset `bcache`"),
        (["--name", "db", "--size", "16MiB", "--set", "dirty_high_pct"], "is not SETTING=VALUE"),
        (["--name", "db", "--size", "16MiB", "--set", "dirty_high_pct=101"], "dirty_high_pct = `101`"),
        (["--name", "db", "--size", "16MiB", "--set", "dirty=1"], "there is no setting `dirty`"),
        (["--name", "db", "--size", "16MiB", "--set", "dirty_low_pct=90"], "is above dirty_high_pct"),
    ],
)
def test_arguments_that_cannot_be_are_refused_and_nothing_is_left(
    caches: CacheLab, arguments: list[str], said: str
) -> None:
    backing = _file(caches.backing)
    before = sorted(path.name for path in caches.folder.iterdir())
    assert said in caches.refused("create", caches.fast, backing, *arguments)
    after = sorted(path.name for path in caches.folder.iterdir() if path.name != "state")
    assert after == [name for name in before if name != "state"]
    assert caches.go("status")["caches"] == []


def test_a_backing_device_must_be_there_and_hold_something(caches: CacheLab) -> None:
    options = ("--name", "db", "--size", "16MiB")
    assert "does not exist" in caches.refused("create", caches.fast, caches.backing, *options)
    caches.backing.touch()
    assert "is empty: there is nothing to cache" in caches.refused("create", caches.fast, caches.backing, *options)
    caches.backing.write_bytes(b"x" * 5000)
    assert "no multiple of 4096" in caches.refused("create", caches.fast, caches.backing, *options)
    assert not caches.fast.exists()


def test_the_same_file_for_both_is_refused(caches: CacheLab) -> None:
    backing = _file(caches.backing)
    os.link(backing, caches.folder / "hard")
    (caches.folder / "soft").symlink_to(backing)
    for fast in (backing, caches.folder / "hard", caches.folder / "soft"):
        said = caches.refused("create", fast, backing, "--name", "db")
        assert "are the same file" in said and "a cache needs two" in said


def test_a_cache_larger_than_its_device_is_refused(caches: CacheLab) -> None:
    _file(caches.backing)
    _file(caches.fast, 16)
    said = caches.refused("create", caches.fast, caches.backing, "--name", "db", "--size", "17MiB")
    assert "17 MiB are more than the 16 MiB" in said


def test_a_file_that_is_not_ours_is_never_overwritten_without_force(caches: CacheLab) -> None:
    _file(caches.backing)
    caches.fast.write_bytes(b"precious" * MIB)
    before = _content(caches.fast, caches.backing)
    arguments = ("create", caches.fast, caches.backing, "--name", "db")
    said = caches.refused(*arguments)
    assert "holds data of an unknown kind: it would be destroyed" in said and "--force" in said
    assert _content(caches.fast, caches.backing) == before
    caches.go(*arguments, "--force")


def test_a_foreign_file_system_is_named_and_never_overwritten_without_force(caches: CacheLab) -> None:
    _file(caches.backing)
    _file(caches.fast, 32)
    subprocess.run(["mkfs.ext4", "-q", "-F", "-L", "precious", caches.fast], check=True)
    before = _content(caches.fast)
    said = caches.refused("create", caches.fast, caches.backing, "--name", "db")
    assert "ext4" in said and 'label "precious"' in said and "UUID" in said
    assert _content(caches.fast) == before
    assert not (caches.folder / "backing.flatwater-pair").exists()


def test_another_cache_is_named_and_never_overwritten_without_force(caches: CacheLab) -> None:
    caches.make()
    other = _file(caches.folder / "other")
    said = caches.refused("create", caches.fast, other, "--name", "two")
    assert "is a cache device already (db)" in said
    said = caches.refused("create", caches.folder / "new", caches.fast, "--name", "two", "--size", "16MiB")
    assert "is itself a cache device (db)" in said
    said = caches.refused("create", caches.folder / "new", caches.backing, "--name", "two", "--size", "16MiB")
    assert "the backing device belongs to the cache" in said
    assert not (caches.folder / "new").exists()
    assert "a cache is called db already" in caches.refused(
        "create", caches.folder / "new", other, "--name", "db", "--size", "16MiB"
    )
    assert caches.status()["state"] == "stopped"


def test_a_mounted_device_and_its_file_are_refused(caches: CacheLab, device, mount) -> None:  # type: ignore[no-untyped-def]
    disk = device(64, "ext4")
    where = mount(disk)
    image = next(path for path in caches.folder.iterdir() if path.name.startswith("image-"))
    said = caches.refused("create", caches.fast, disk, "--name", "db", "--size", "16MiB")
    assert f"{disk} is mounted on {where}" in said
    said = caches.refused("create", caches.fast, image, "--name", "db", "--size", "16MiB")
    assert f"{disk} is a loop device on it" in said
    free = device(64)
    said = caches.refused("create", disk, free, "--name", "db")
    assert "is mounted on" in said
    assert not caches.fast.exists()


def test_a_device_and_the_file_below_it_are_the_same_storage(caches: CacheLab, device) -> None:  # type: ignore[no-untyped-def]
    disk = device(64)
    image = next(path for path in caches.folder.iterdir() if path.name.startswith("image-"))
    said = caches.refused("create", image, disk, "--name", "db")
    assert "stand on the same storage" in said


def test_a_cache_on_two_block_devices(caches: CacheLab, device) -> None:  # type: ignore[no-untyped-def]
    fast, backing = device(16), device(64)
    told = caches.go("create", fast, backing, "--name", "db")
    assert told["fast_bytes"] == 16 * MIB
    assert Path(told["pair"]).parent.name == "db", "there is nothing beside a device"
    assert caches.status()["safe_to_unplug"] is True
    caches.go("destroy", "db")
    assert not Path(told["pair"]).exists()


def test_a_device_that_was_mistyped_is_no_file_in_memory(caches: CacheLab) -> None:
    _file(caches.backing)
    told = caches.refused("create", Path("/dev/nvme9n1"), caches.backing, "--name", "db", "--size", "16MiB")
    assert "is no block device" in told
    assert not Path("/dev/nvme9n1").exists()


def test_what_is_neither_file_nor_device_is_refused(caches: CacheLab) -> None:
    _file(caches.backing)
    for bad in (caches.folder, Path("/dev/null")):
        assert "neither a file nor a block device" in caches.refused("create", bad, caches.backing, "--name", "db")
        assert "neither a file nor a block device" in caches.refused(
            "create", caches.fast, bad, "--name", "db", "--size", "16MiB"
        )


def _other_cache(caches: CacheLab, *options: str | Path) -> tuple[str | Path, ...]:
    return ("create", caches.folder / "fast2", caches.backing, "--name", "two", "--size", "16MiB", *options)


@pytest.mark.parametrize("kind", ["file", "zeros", "symlink", "dangling", "folder", "backing", "fifo"])
@pytest.mark.parametrize("force", [[], ["--force"]], ids=["", "force"])
def test_a_pair_file_that_is_not_ours_is_never_overwritten(caches: CacheLab, kind: str, force: list[str]) -> None:
    _file(caches.backing)
    precious, pair = caches.folder / "precious", caches.folder / "pair"
    precious.write_bytes(b"precious" * 512)
    if kind == "file":
        pair.write_bytes(b"precious" * 512)
    elif kind == "zeros":
        pair.write_bytes(bytes(4096))
    elif kind in ("symlink", "dangling"):
        pair.symlink_to(precious if kind == "symlink" else caches.folder / "nowhere")
    elif kind == "folder":
        pair.mkdir()
    elif kind == "fifo":
        os.mkfifo(pair)
    else:
        pair = caches.backing
    before = _content(precious, caches.backing)
    said = caches.refused(*_other_cache(caches, "--pair", pair, *force))
    assert "exists and is no pairing record" in said and "--pair" in said
    assert _content(precious, caches.backing) == before
    assert kind != "file" or pair.read_bytes() == b"precious" * 512
    assert not (caches.folder / "nowhere").exists() and not (caches.folder / "fast2").exists()
    assert caches.go("status")["caches"] == []


@pytest.mark.parametrize("force", [[], ["--force"]], ids=["", "force"])
@pytest.mark.parametrize("elsewhere", [False, True])
def test_two_caches_on_one_backing_file_cannot_be(caches: CacheLab, force: list[str], elsewhere: bool) -> None:
    caches.make(*(["--pair", str(caches.folder / "pair1")] if elsewhere else []))
    own = Path(caches.folder / "pair1" if elsewhere else f"{caches.backing}.flatwater-pair")
    before = _content(own)
    os.link(caches.backing, caches.folder / "hard")
    for pair in ([], ["--pair", caches.folder / "pair2"], ["--pair", own]):
        said = caches.refused(*_other_cache(caches, *pair, *force))
        assert "the backing device belongs to the cache db already" in said and "destroy db" in said
        hard = ("create", caches.folder / "fast2", caches.folder / "hard", "--name", "two", "--size", "16MiB")
        assert "belongs to the cache db already" in caches.refused(*hard, *pair, *force)
    assert _content(own) == before and not (caches.folder / "fast2").exists()
    assert not (caches.folder / "pair2").exists()


def test_the_pair_file_of_another_cache_is_refused(caches: CacheLab) -> None:
    caches.make()
    other, pair = _file(caches.folder / "other"), Path(f"{caches.backing}.flatwater-pair")
    before = _content(pair)
    fresh = ("create", caches.folder / "fast2", other, "--name", "two", "--size", "16MiB", "--pair", pair)
    for force in ([], ["--force"]):
        assert "is the pairing record of the cache" in caches.refused(*fresh, *force)
    assert _content(pair) == before


def test_a_backing_file_of_a_cache_that_is_not_known_here(caches: CacheLab, monkeypatch: pytest.MonkeyPatch) -> None:
    caches.make()
    pair = Path(f"{caches.backing}.flatwater-pair")
    monkeypatch.setenv("FLATWATER_STATE_DIR", str(caches.folder / "state" / "elsewhere"))
    for options in ([], ["--pair", caches.folder / "pair2"]):
        assert "the backing device belongs to the cache" in caches.refused(*_other_cache(caches, *options))
    taken = ("create", caches.folder / "fast2", _file(caches.folder / "other"), "--name", "two", "--size", "16MiB")
    assert "is the pairing record of the cache" in caches.refused(*taken, "--pair", pair)
    caches.go(*_other_cache(caches, "--pair", caches.folder / "pair2", "--force"))
    assert not pair.exists(), "it is the other one's no more"


def test_what_a_cache_was_made_on_is_empty_after_it_was_destroyed(mounted: CacheLab) -> None:
    mounted.make()
    mounted.start()
    with mounted.device.open("r+b") as handle:
        handle.write(os.urandom(8 * MIB))
    mounted.go("stop", "db", "--drain")
    size = mounted.fast.stat().st_size
    mounted.go("destroy", "db")
    assert mounted.fast.stat().st_size == size and not any(mounted.fast.read_bytes())
    mounted.make()


def test_what_lies_beyond_a_cache_stays_when_it_is_destroyed(caches: CacheLab) -> None:
    caches.make()
    with caches.fast.open("ab") as handle:
        handle.write(b"mine")
    caches.go("destroy", "db")
    assert caches.fast.read_bytes().endswith(b"mine")
