"""What an emulated device is to whoever uses it: its size, its time, its errors, and what it tells."""

from __future__ import annotations

import errno
import os
import statistics
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest


def _latencies_s(file: Any, reads: int) -> list[float]:
    found = []
    for block in range(reads):
        begin = time.monotonic()
        file.read(block)
        found.append(time.monotonic() - begin)
    return found


def test_a_request_takes_as_long_as_the_model_says(emulators: Any, direct: Any) -> None:
    latency_s = 0.02
    emulators.start(emulators.memory(latency_us=latency_s * 1e6))
    file = direct(emulators.device)
    taken = _latencies_s(file, 30)
    file.close()
    # Never early; and not late by half whenever the machine had a core for it.
    assert latency_s <= min(taken) < 1.5 * latency_s


def test_many_requests_are_under_way_at_once(emulators: Any) -> None:
    latency_s, depth, requests = 0.05, 16, 512
    emulators.start(emulators.memory(latency_us=latency_s * 1e6))
    command = ["fio", "--name=x", f"--filename={emulators.device}", "--bs=4k", "--rw=randread", "--ioengine=libaio"]
    begin = time.monotonic()
    subprocess.run(
        [*command, "--direct=1", f"--iodepth={depth}", f"--io_size={requests * 4}k", "--size=64m"], check=True
    )
    # One after the other they would take longer than this, fio's own start included.
    assert time.monotonic() - begin < requests * latency_s
    assert emulators.stats()["reads"] >= requests


def test_nothing_is_beyond_the_end(emulators: Any, direct: Any) -> None:
    emulators.start(emulators.memory(), "--size", "1MiB")
    assert emulators.device.stat().st_size == 2**20
    file = direct(emulators.device)
    file.write(255, 7)
    with pytest.raises(OSError) as caught:
        file.write(256, 7)
    assert caught.value.errno == errno.ENOSPC
    assert file.read(255) == bytes([7]) * 4096  # and it stays usable
    file.close()
    # As of a block device, its length is not for its user to change.
    with emulators.device.open("wb") as opened:
        opened.write(b"x" * 4096)
    assert emulators.device.stat().st_size == 2**20


def test_a_full_file_system_below_it_is_a_full_device_that_stays_usable(
    emulators: Any, direct: Any, tmpfs: Any
) -> None:
    backing = tmpfs(1) / "backing"
    process = emulators.start(emulators.memory(), backing=backing)
    file = direct(emulators.device)
    with pytest.raises(OSError) as caught:
        for block in range(1000):
            file.write(block, 1)
    assert caught.value.errno == errno.ENOSPC
    assert file.read(0) == bytes([1]) * 4096
    os.posix_fadvise(file._file, 0, 0, os.POSIX_FADV_DONTNEED)
    subprocess.run(["fallocate", "--punch-hole", "--offset", "0", "--length", "64KiB", emulators.device], check=True)
    file.write(0, 2)  # what was given back can be used again
    assert file.read(0) == bytes([2]) * 4096
    file.close()
    assert emulators.stats()["failed"] > 0
    emulators.stop(process)


def test_trimmed_ranges_read_as_zeroes_and_leave_the_backing_file(emulators: Any, direct: Any) -> None:
    emulators.start(emulators.memory())
    file = direct(emulators.device)
    for block in range(64):
        file.write(block, 9)
    held = emulators.backing.stat().st_blocks
    subprocess.run(["fallocate", "--punch-hole", "--offset", "0", "--length", "128KiB", emulators.device], check=True)
    assert file.read(31) == bytes(4096)
    assert file.read(32) == bytes([9]) * 4096
    file.close()
    assert emulators.backing.stat().st_blocks < held
    assert emulators.stats()["trims"] == 1


def test_it_tells_of_itself_in_files(emulators: Any, direct: Any) -> None:
    emulators.start(emulators.memory())
    file = direct(emulators.device)
    file.write(0, 1)
    os.fsync(file._file)
    file.read(0)
    file.close()
    stats = emulators.stats()
    assert (stats["reads"], stats["writes"], stats["flushes"], stats["failed"]) == (1, 1, 1, 0)
    assert stats["lag"]["answers"] == 3
    assert stats["size_bytes"] == 64 * 2**20
    assert (emulators.mount / "smart").read_text().startswith("A box\n")
    assert sorted(path.name for path in emulators.mount.iterdir()) == ["device", "smart", "stats.json"]
    for name in ("smart", "stats.json"):
        with pytest.raises(OSError):
            (emulators.mount / name).write_text("x")
    with pytest.raises(OSError):
        (emulators.mount / "another").write_text("x")


def test_a_synchronous_write_is_a_write_and_a_flush(emulators: Any) -> None:
    emulators.start(emulators.memory(latency_us=10_000))
    file = os.open(emulators.device, os.O_WRONLY | os.O_DSYNC)
    begin = time.monotonic()
    os.pwrite(file, bytes(4096), 0)
    assert time.monotonic() - begin >= 0.02
    os.close(file)
    stats = emulators.stats()
    assert (stats["writes"], stats["flushes"]) == (1, 1)


@pytest.mark.slow
def test_a_card_slows_down_when_its_spare_is_used_up(emulators: Any) -> None:
    # 1 % of the card: filled twice over in seconds, and its collector at work in the end.
    emulators.start("fusion-io-iodrive-160-slc", "--scale", "0.005", "--volatile")
    command = ["fio", "--name=x", f"--filename={emulators.device}", "--bs=16k", "--rw=randwrite", "--ioengine=libaio"]
    command += ["--direct=1", "--iodepth=16", "--size=100%", "--randrepeat=0", "--norandommap=1", "--time_based"]
    log = emulators.folder / "bw"
    subprocess.run([*command, "--runtime=12", "--log_avg_msec=1000", f"--write_bw_log={log}"], check=True)
    rows = [line.split(",") for line in Path(f"{log}_bw.1.log").read_text().splitlines()]
    rates = [float(row[1]) for row in rows]
    series = emulators.stats()["series"]
    assert series["write_amplification"] > 1.1
    assert statistics.mean(rates[-3:]) < 0.8 * statistics.mean(rates[:2])
