"""A cache from its making to its end, through the command line, on a real mount."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cachelab import MIB, CacheLab
from waiting import PATIENCE_S

from flatwater.cache.mounting import mount_users


def _write(path: Path, offset: int, data: bytes) -> None:
    with path.open("r+b") as handle:
        handle.seek(offset)
        handle.write(data)
        handle.flush()
        os.fsync(handle.fileno())


def _read(path: Path, offset: int, length: int) -> bytes:
    with path.open("rb") as handle:
        handle.seek(offset)
        return handle.read(length)


def test_from_making_to_destroying(mounted: CacheLab) -> None:
    mounted.make("--set", "idle_flush_s=0")
    told = mounted.start()
    assert Path(told["device"]) == mounted.device
    assert mounted.device.stat().st_size == 64 * MIB
    data = os.urandom(MIB)
    _write(mounted.device, 5 * MIB, data)
    assert _read(mounted.device, 5 * MIB, MIB) == data
    status = mounted.status()
    assert status["running"] and status["dirty_blocks"] == 64 and status["safe_to_unplug"] is False
    assert "already" in mounted.refused("start", "db", "--mount", mounted.mount)
    assert "runs" in mounted.refused("destroy", "db") and "runs" in mounted.refused("drain", "db")
    assert "runs" in mounted.refused("check", "db")
    told = mounted.go("stop", "db")
    assert told["dirty_blocks"] == 64 and told["safe_to_unplug"] is False
    assert "does not run" in mounted.refused("stop", "db", "--drain")
    assert _read(mounted.backing, 5 * MIB, MIB) == bytes(MIB), "dirty data are in the cache only"
    assert not mounted.mount.is_mount()

    assert "64 blocks (1,048,576 B) are dirty" in mounted.refused("destroy", "db")
    assert "--discard-dirty 64" in mounted.refused("destroy", "db", "--discard-dirty", "63")
    checked = mounted.go("check", "db")
    assert checked["state"] == "stopped" and checked["dirty_blocks"] == 64 and checked["damaged"] == []

    mounted.start()
    assert _read(mounted.device, 5 * MIB, MIB) == data
    told = mounted.go("stop", "db", "--drain")
    assert told["dirty_blocks"] == 0 and told["safe_to_unplug"] is True
    assert _read(mounted.backing, 5 * MIB, MIB) == data
    mounted.go("destroy", "db")
    assert mounted.go("status")["caches"] == []
    assert mounted.backing.stat().st_size == 64 * MIB
    assert not Path(f"{mounted.backing}.flatwater-pair").exists()


def test_settings_are_changed_while_it_serves_and_kept(mounted: CacheLab) -> None:
    mounted.make("--preset", "vcache")
    assert mounted.go("set", "db", "dirty_high_pct=61")["live"] is False
    mounted.start()
    told = mounted.go("set", "db", "flush_period_s=30", "mode=write-through")
    assert told["live"] is True and told["settings"]["mode"] == "write-through"
    assert told["settings"]["dirty_high_pct"] == 61 and told["settings"]["policy"] == "lru"
    assert "no setting `colour`" in mounted.refused("set", "db", "flush_period_s=1", "colour=blue")
    assert mounted.status()["settings"]["flush_period_s"] == 30, "all or nothing"
    # Through the files beside the exported one: kept as well.
    (mounted.mount / "settings/dirty_low_pct").write_text("33\n")
    assert mounted.go("set", "db")["settings"]["dirty_low_pct"] == 33
    time.sleep(1.0)
    mounted.kill("serving_process")
    mounted.wait(state="serving", restarts=1)
    mounted.go("stop", "db")
    mounted.start()
    settings = mounted.status()["settings"]
    assert (settings["mode"], settings["flush_period_s"], settings["dirty_low_pct"]) == ("write-through", 30, 33)


def test_a_flush_waits_or_tells_its_end(mounted: CacheLab) -> None:
    mounted.make()
    mounted.start()
    _write(mounted.device, 0, os.urandom(2 * MIB))
    assert mounted.status()["dirty_blocks"] == 128
    told = mounted.go("flush", "db")
    assert told["state"] == "done"
    assert mounted.status()["dirty_blocks"] == 0
    assert _read(mounted.backing, 0, 2 * MIB) == _read(mounted.device, 0, 2 * MIB)
    _write(mounted.device, 0, os.urandom(MIB))
    job = mounted.go("flush", "db", "--background")["job"]
    until = time.monotonic() + 30
    while True:
        (found,) = [one for one in mounted.status()["jobs"] if one["job"] == job]
        if found["state"] == "done":
            break
        assert time.monotonic() < until, found
    assert found["ended_s"] >= found["began_s"]
    assert mounted.go("flush", "db", "--stop")["stopped"] == []


def test_pin_preload_and_resize_while_it_serves(mounted: CacheLab) -> None:
    mounted.make(size_mib=24)
    mounted.backing.write_bytes(os.urandom(64 * MIB))
    mounted.start()
    mounted.go("preload", "db", "8MiB+4MiB")
    before = mounted.status()["statistics"]
    assert before["clean_blocks"] >= 256
    assert _read(mounted.device, 8 * MIB, 4 * MIB) == _read(mounted.backing, 8 * MIB, 4 * MIB)
    after = mounted.status()["statistics"]
    assert after["slow_reads"] == before["slow_reads"], "all of it came from the cache"
    mounted.go("pin", "db", "0..1MiB")
    assert mounted.status()["statistics"]["pinned_blocks"] == 64
    mounted.go("pin", "db", "0..1MiB", "--release")
    assert mounted.status()["statistics"]["pinned_blocks"] == 0
    slots = mounted.status()["statistics"]["slots"]
    mounted.go("resize", "db", "12MiB")
    assert mounted.status()["statistics"]["slots"] < slots
    assert _read(mounted.device, 0, 64 * MIB) == mounted.backing.read_bytes()
    for range_, said in (
        ("60MiB+8MiB", "goes beyond"),
        ("5..5", "is empty"),
        ("some", "is no range"),
        ("all", "do not fit"),
    ):
        assert said in mounted.refused("pin", "db", range_)
    assert "are more than the 24 MiB" in mounted.refused("resize", "db", "1GiB")


def test_size_and_pins_outlive_a_kill_and_a_stop(mounted: CacheLab) -> None:
    mounted.make(size_mib=24)
    mounted.start()
    whole = mounted.status()["statistics"]["slots"]
    mounted.go("resize", "db", "12MiB")
    small = mounted.status()["statistics"]["slots"]
    assert small < whole
    mounted.go("pin", "db", "0..2MiB")
    mounted.go("pin", "db", "1MiB..2MiB", "--release")

    def as_before() -> None:
        until = time.monotonic() + PATIENCE_S
        while True:
            found = mounted.status()["statistics"]
            if (found["slots"], found["pinned_blocks"]) == (small, 64):
                return
            assert time.monotonic() < until, found
            time.sleep(0.1)

    as_before()
    mounted.kill("serving_process")
    mounted.wait(state="serving", restarts=1)
    as_before()
    mounted.go("stop", "db")
    mounted.start()
    as_before()
    mounted.go("resize", "db", "24MiB")
    mounted.go("stop", "db")
    mounted.start()
    assert mounted.status()["statistics"]["slots"] == whole


def test_a_mount_in_use_is_not_taken_away_and_its_user_is_named(mounted: CacheLab) -> None:
    mounted.make()
    mounted.start()
    with subprocess.Popen(
        [sys.executable, "-c", f"f = open({str(mounted.device)!r}, 'rb'); print(flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        said = mounted.refused("stop", "db", code=1)
        assert f"(process {process.pid})" in said and "is in use" in said
        assert mounted.status()["state"] == "serving"
        assert any(str(process.pid) in user for user in mount_users(mounted.mount))
        process.communicate()
    mounted.go("stop", "db")


def test_a_place_to_mount_must_be_empty_and_there(mounted: CacheLab) -> None:
    mounted.make()
    assert "does not exist" in mounted.refused("start", "db", "--mount", mounted.folder / "no")
    assert "is not empty" in mounted.refused("start", "db", "--mount", mounted.folder)
    assert "nobody could use it" in mounted.refused("start", "db")
    assert "no cache is called" in mounted.refused("start", "other", "--mount", mounted.folder)
    mounted.start()
    other = mounted.folder / "other"
    other.mkdir()
    assert "runs already" in mounted.refused("start", "db", "--mount", other)


def test_wrong_pairs_are_refused(mounted: CacheLab) -> None:
    mounted.make()
    mounted.mount.mkdir()
    pair = Path(f"{mounted.backing}.flatwater-pair")
    kept = pair.read_bytes()
    start = ("start", "db", "--mount", str(mounted.mount))
    pair.write_bytes(bytes(4096))
    assert "no intact pairing record" in mounted.refused(*start)
    pair.write_bytes(kept)
    mounted.go(*start)
    mounted.go("stop", "db")
    pair.write_bytes(kept)
    assert "older copy" in mounted.refused(*start), "a backing device from before the last start"
    other = mounted.folder / "other"
    other.mkdir()
    subprocess.run(["truncate", "-s", "64M", other / "backing"], check=True)
    mounted.go("create", other / "fast", other / "backing", "--name", "two", "--size", "16MiB")
    pair.write_bytes((other / "backing.flatwater-pair").read_bytes())
    assert "do not belong together" in mounted.refused(*start)


def test_a_lost_cache_device_is_told_and_can_be_forgotten(mounted: CacheLab) -> None:
    mounted.make()
    mounted.fast.rename(mounted.folder / "gone")
    status = mounted.status()
    assert status["safe_to_unplug"] is None and "is gone" in status["problem"]
    assert "is gone" in mounted.refused("destroy", "db")
    (mounted.folder / "gone").rename(mounted.fast)
    assert mounted.status()["safe_to_unplug"] is True
    mounted.fast.unlink()
    mounted.go("destroy", "db", "--gone")
    assert mounted.go("status")["caches"] == []


def test_a_cache_whose_state_was_lost_is_found_by_its_device(
    mounted: CacheLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounted.make()
    monkeypatch.setenv("FLATWATER_STATE_DIR", str(mounted.folder / "state" / "elsewhere"))
    mounted.mount.mkdir()
    start = ("start", str(mounted.fast), "--mount", str(mounted.mount))
    assert "--backing BACKING" in mounted.refused(*start)
    told = mounted.go(*start, "--backing", mounted.backing, "--name", "found")
    assert told["name"] == "found"
    assert mounted.status("found")["state"] == "serving"
    mounted.go("stop", "found")


def test_in_the_foreground_ctrl_c_stops_it_and_nothing_is_lost(mounted: CacheLab) -> None:
    mounted.make()
    mounted.mount.mkdir()
    running = mounted.lab.start("start", "db", "--mount", mounted.mount, "--foreground", verb="cache")
    running.until(lambda: mounted.mount.is_mount() and mounted.device.exists())
    data = os.urandom(MIB)
    _write(mounted.device, 0, data)
    ran = running.send(signal.SIGINT)
    assert ran.code == 0, ran
    assert not mounted.mount.is_mount()
    assert mounted.go("check", "db")["dirty_blocks"] == 64
    assert mounted.go("drain", "db")["written_blocks"] == 64
    assert _read(mounted.backing, 0, MIB) == data


def test_a_start_that_fails_leaves_nothing(mounted: CacheLab) -> None:
    mounted.make()
    with mounted.fast.open("r+b") as handle:
        # Both superblocks are whole, and no checkpoint is.
        handle.seek(128 * 1024)
        handle.write(os.urandom(8 * MIB))
    mounted.mount.mkdir()
    ran = mounted.run("start", "db", "--mount", mounted.mount)
    assert ran.code in (1, 2), ran
    assert not mounted.mount.is_mount()
    assert mounted.status()["running"] is False


def test_over_nbd_only(caches: CacheLab) -> None:
    caches.make()
    socket = Path("/tmp") / f"flatwater-test-{os.getpid()}.nbd"  # a socket's path must be short
    told = caches.go("start", "db", "--nbd", socket)
    try:
        assert told["device"] is None and told["nbd"] == str(socket)
        assert socket.is_socket()
        assert caches.status()["state"] == "serving"
        other = caches.folder / "other"
        other.touch()
        assert "runs already" in caches.refused("start", "db", "--nbd", other)
    finally:
        caches.go("stop", "db")
    assert not socket.exists()
    assert json.loads(caches.run("status", "--json").stdout)["caches"][0]["running"] is False
