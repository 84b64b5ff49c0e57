"""What a served device keeps to: block devices below it, durable writes, who may fill it, and its length."""

from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path

import pytest
from cachelab import MIB, CacheLab


def test_two_block_devices_are_served_and_nobody_else_gets_them(mounted: CacheLab, device) -> None:  # type: ignore[no-untyped-def]
    fast, backing = device(16), device(64)
    mounted.go("create", fast, backing, "--name", "db", "--set", "sequential_bytes=0")
    mounted.start()
    data = os.urandom(MIB)
    with mounted.device.open("r+b") as handle:
        handle.write(data)
        handle.flush()
        os.fsync(handle.fileno())
    for path in (fast, backing):
        ran = subprocess.run(["mkfs.ext4", "-q", path], capture_output=True, text=True)
        assert ran.returncode != 0 and "in use" in ran.stderr, ran
    said = mounted.refused("create", fast, backing, "--name", "two", "--force")
    assert "in use" in said
    mounted.kill("serving_process")
    mounted.wait(state="serving", restarts=1)
    told = mounted.go("stop", "db", "--drain")
    assert told["safe_to_unplug"] is True
    with backing.open("rb") as handle:
        assert handle.read(MIB) == data


def test_a_synchronous_write_is_durable_when_it_is_answered(mounted: CacheLab) -> None:
    mounted.make("--set", "commit_interval_s=0")
    mounted.start()
    before = mounted.status()["statistics"]["fast_syncs"]
    handle = os.open(mounted.device, os.O_RDWR | os.O_DSYNC)
    for number in range(5):
        os.pwrite(handle, os.urandom(16384), number * 16384)
    os.close(handle)
    assert mounted.status()["statistics"]["fast_syncs"] >= before + 5


def test_only_allowed_processes_fill_the_cache(mounted: CacheLab) -> None:
    mounted.make("--set", f"deny_processes={os.getpid()}", "--set", "admission=all")
    mounted.start()

    def fills(offset: int) -> int:
        before = mounted.status()["statistics"]["fills"]
        handle = os.open(mounted.device, os.O_RDONLY)
        os.pread(handle, 65536, offset)
        os.close(handle)
        after: int = mounted.status()["statistics"]["fills"]
        return after - before

    assert fills(0) == 0
    mounted.go("set", "db", "deny_processes=none")
    assert fills(MIB) == 4
    mounted.go("set", "db", "allow_processes=1")
    assert fills(2 * MIB) == 0


def test_it_keeps_its_length(mounted: CacheLab) -> None:
    mounted.make()
    mounted.start()
    for call in (lambda: os.truncate(mounted.device, 5), lambda: (mounted.mount / "new").touch()):
        with pytest.raises(OSError) as caught:
            call()
        assert caught.value.errno == errno.EPERM
    handle = os.open(mounted.device, os.O_RDWR)
    with pytest.raises(OSError) as caught:
        os.pwrite(handle, b"x" * 4096, 64 * MIB)
    assert caught.value.errno == errno.ENOSPC
    os.close(handle)
    assert Path(mounted.device).stat().st_size == 64 * MIB
