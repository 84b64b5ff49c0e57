"""Devices that vanish or take nothing more while a cache serves: what is said, what is saved, and that nobody hangs."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from cachelab import MIB, CacheLab
from waiting import PATIENCE_S

BLOCK = 16384


def _write(caches: CacheLab, blocks: int) -> bytes:
    data = os.urandom(blocks * BLOCK)
    with caches.device.open("r+b") as handle:
        handle.write(data)
        handle.flush()
        os.fsync(handle.fileno())
    return data


def _read(caches: CacheLab) -> str:
    """What a client gets that reads a block: in a process of its own, which may hang."""
    program = f"import os; os.pread(os.open({str(caches.device)!r}, os.O_RDONLY), {BLOCK}, 0); print('read')"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE_S)
    return ran.stdout.strip() or ran.stderr.strip().splitlines()[-1]


def test_who_waits_gets_eio_when_nothing_can_serve_and_is_served_when_it_can_again(mounted: CacheLab) -> None:
    socket_file = Path("/tmp") / f"flatwater-test-{os.getpid()}-o.nbd"  # a socket's path must be short
    mounted.make("--set", "outage_s=1")
    mounted.start("--nbd", socket_file)
    _write(mounted, 8)
    with mounted.fast.open("r+b") as handle:
        header = handle.read(128 * 1024)
        handle.seek(0)
        handle.write(bytes(128 * 1024))
    mounted.kill("serving_process")
    # No client comes back until then: the kernel sends what waits to the supervisor.
    assert "[Errno 5]" in _read(mounted)
    status = mounted.wait(state="refusing")
    assert "no flatwater cache" in status["problem"]
    assert any("requests get EIO" in text for _, text in status["told"])
    assert "[Errno 5]" in _read(mounted), "as long as it lasts"
    with socket.socket(socket.AF_UNIX) as link:
        link.settimeout(PATIENCE_S)
        link.connect(str(socket_file))
        assert link.recv(1) == b"", "no greeting, but an end"
    with mounted.fast.open("r+b") as handle:
        handle.write(header)
    mounted.wait(state="serving")
    assert _read(mounted) == "read"
    mounted.go("stop", "db", "--drain")


def test_who_waits_may_wait_for_ever(mounted: CacheLab) -> None:
    mounted.make("--set", "outage_s=off")
    mounted.start()
    with mounted.fast.open("r+b") as handle:
        header = handle.read(128 * 1024)
        handle.seek(0)
        handle.write(bytes(128 * 1024))
    mounted.kill("serving_process")
    mounted.wait(state="not serving")
    with subprocess.Popen(
        [sys.executable, "-c", f"print(open({str(mounted.device)!r}, 'rb').read(4))"], stdout=subprocess.PIPE
    ) as reader:
        with mounted.fast.open("r+b") as handle:
            handle.write(header)
        assert reader.communicate(timeout=PATIENCE_S)[0].strip() == rb"b'\x00\x00\x00\x00'"
    mounted.go("stop", "db")


def test_a_cache_file_that_was_removed_is_told_and_nothing_dirty_goes_with_it(mounted: CacheLab) -> None:
    mounted.make()
    mounted.start()
    data = _write(mounted, 64)
    mounted.fast.unlink()
    assert "was removed or replaced" in mounted.status()["problem"]
    mounted.kill("serving_process")
    # The supervisor holds the file: the next process goes on with it.
    mounted.wait(state="serving", restarts=1)
    status = mounted.status()
    assert "--drain writes back" in status["problem"] and status["dirty_blocks"] == 64
    assert _read(mounted) == "read"
    mounted.go("stop", "db")
    assert mounted.backing.read_bytes()[: len(data)] == data, "it was written back at the stop"
    assert "is whole without it" in mounted.run("destroy", "db", "--gone").stdout


def test_nothing_dirty_goes_with_a_removed_cache_file_when_somebody_unmounts_the_cache(mounted: CacheLab) -> None:
    """The end began with the mount that was gone, and did not look at the file: what was dirty in it was lost."""
    mounted.make()
    mounted.start()
    data = _write(mounted, 64)
    mounted.fast.unlink()
    subprocess.run(["umount", mounted.mount], check=True)
    mounted.wait(running=False)
    assert mounted.backing.read_bytes()[: len(data)] == data


def test_a_backing_file_that_was_removed_is_told_and_still_served(mounted: CacheLab) -> None:
    mounted.make()
    mounted.start()
    _write(mounted, 8)
    mounted.backing.unlink()
    assert "copy what the cache serves elsewhere" in mounted.status()["problem"]
    mounted.kill("serving_process")
    mounted.wait(state="serving", restarts=1)
    assert _read(mounted) == "read"
    mounted.go("stop", "db")
    assert "is gone" in mounted.refused("start", "db", "--mount", mounted.mount)


@pytest.mark.parametrize("killed", [False, True])
def test_a_cache_device_that_is_gone_with_dirty_blocks_is_not_called_whole(mounted: CacheLab, killed: bool) -> None:
    mounted.make()
    mounted.start()
    _write(mounted, 24)
    if killed:
        mounted.close()
    else:
        mounted.go("stop", "db")
    mounted.fast.unlink()
    assert mounted.status()["state"] == "cache device gone"
    ran = mounted.run("destroy", "db", "--gone")
    assert ran.code == 0 and "whole" not in ran.stdout and "is older than it was" in ran.stdout
    assert ("nobody can tell how much" if killed else "24 dirty blocks were lost") in ran.stdout


def test_a_drain_on_a_full_backing_file_gives_up(mounted: CacheLab, device, mount) -> None:  # type: ignore[no-untyped-def]
    """Some blocks find room all the time, others never do."""
    where = mount(device(96, "ext4"))
    backing = where / "backing"
    with backing.open("wb") as handle:
        handle.truncate(64 * MIB)
        handle.write(os.urandom(4 * MIB))
    settings = [f"--set={one}" for one in ("sequential_bytes=0", "dirty_high_pct=100", "dirty_low_pct=100")]
    mounted.go("create", mounted.fast, backing, "--name", "db", "--size", "24MiB", *settings)
    filler = os.open(where / "filler", os.O_RDWR | os.O_CREAT)
    with suppress(OSError):
        while True:
            os.posix_fallocate(filler, os.fstat(filler).st_size, MIB)
    os.close(filler)
    os.truncate(where / "filler", (where / "filler").stat().st_size - MIB)
    mounted.start()
    data = _write(mounted, 1024)  # 16 MiB, of which the file has room for 5
    ran = mounted.run("stop", "db", "--drain")
    assert ran.code == 1, ran
    assert "blocks could not be written back" in ran.error and "is it full?" in ran.error
    assert "stay dirty, safe in the cache" in ran.stderr
    left = mounted.status()["dirty_blocks"]
    assert 0 < left < 1024 and mounted.status()["state"] == "stopped"
    (where / "filler").unlink()
    mounted.go("drain", "db")
    assert backing.read_bytes()[: len(data)] == data


def test_a_size_that_cannot_be_is_told_with_those_that_can(mounted: CacheLab) -> None:
    mounted.make(size_mib=24)
    mounted.start()
    said = mounted.refused("resize", "db", "256KiB")
    assert "resize: the cache can use from" in said and "bytes of its device" in said
    assert "are more than the 24 MiB" in mounted.refused("resize", "db", "25MiB")
    assert "pin: " in mounted.refused("pin", "db", "0..23MiB")
    mounted.go("stop", "db")


def test_a_setting_that_is_not_there_is_blamed_and_no_other(caches: CacheLab) -> None:
    """The message names all settings; one of them was set before."""
    caches.make("--set", "dirty_high_pct=60", "--set", "mode=write-through")
    said = caches.refused("set", "db", "nosuch=1")
    assert said.startswith("error: nosuch=1: there is no setting `nosuch`"), said
    said = caches.refused("set", "db", "dirty_low_pct=40", "verify=maybe", "idle_flush_s=1")
    assert said.startswith("error: verify=maybe: verify = `maybe`"), said
    assert caches.refused("set", "db", "dirty_low_pct=70").startswith("error: dirty_low_pct=70: dirty_low_pct = 70 is")


def test_a_second_recording_does_not_replace_the_first(mounted: CacheLab) -> None:
    mounted.make()
    mounted.start()
    first, second = mounted.folder / "first.trace", mounted.folder / "second.trace"
    mounted.go("record", "db", first)
    said = mounted.refused("record", "db", second)
    assert f"requests are recorded to {first} already: stop that first" in said and not second.exists()
    # Through the file beside the exported one, the same.
    with pytest.raises(OSError, match="Errno 22"):
        (mounted.mount / "settings/record").write_text(f"{second}\n")
    assert str(first) in (mounted.mount / "settings/.error").read_text()
    assert mounted.status()["record"] == str(first)
    mounted.go("record", "db", first)
    mounted.go("record", "db", "--stop")
    mounted.go("record", "db", second)
    mounted.go("stop", "db")


def test_starts_are_counted_in_words_that_can_be_said(mounted: CacheLab) -> None:
    mounted.make()
    pair = Path(f"{mounted.backing}.flatwater-pair")
    kept = pair.read_bytes()
    mounted.start()
    mounted.go("stop", "db")
    pair.write_bytes(kept)
    said = mounted.refused("start", "db", "--mount", mounted.mount)
    assert "counts 2 starts, and the backing device's pairing record 1" in said and "th time" not in said
