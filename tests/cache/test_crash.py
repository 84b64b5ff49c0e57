"""Whatever dies: no request fails, and nothing that was acknowledged is lost."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from cachelab import MIB, CacheLab
from waiting import PATIENCE_S

#: Kills in one test.
KILLS = 5


def _fio(caches: CacheLab, *options: str) -> subprocess.Popen[str]:
    if shutil.which("fio") is None:
        pytest.skip("fio is not installed")
    command = ["fio", "--name=v", f"--filename={caches.device}", "--ioengine=libaio", "--direct=1", "--size=40m"]
    checks = ["--verify=crc32c", "--verify_fatal=1", "--do_verify=1", "--randseed=1"]
    return subprocess.Popen(
        [*command, *checks, *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=caches.folder
    )


def _ended_well(process: subprocess.Popen[str]) -> None:
    said, _ = process.communicate(timeout=240)
    assert process.returncode == 0, said
    assert "err= 0" in said, said


@pytest.mark.slow
def test_the_serving_process_is_killed_under_verified_writes(mounted: CacheLab) -> None:
    mounted.make(size_mib=24)
    mounted.start()
    load = _fio(mounted, "--rw=randwrite", "--bs=4k", "--iodepth=8", "--loops=12", "--fsync=32", "--verify_backlog=512")
    killed = 0
    while load.poll() is None and killed < KILLS:
        time.sleep(0.4)
        status = mounted.status()
        if status["state"] == "serving" and load.poll() is None:
            os.kill(status["serving_process"], signal.SIGKILL)
            killed += 1
            mounted.wait(restarts=killed)
    _ended_well(load)
    assert killed >= 2, "the load was over too soon to be a test"
    mounted.go("stop", "db")
    assert mounted.go("check", "db")["damaged"] == []


def test_the_supervisor_is_killed_under_verified_writes(mounted: CacheLab) -> None:
    mounted.make(size_mib=24)
    mounted.start()
    load = _fio(mounted, "--rw=randwrite", "--bs=16k", "--iodepth=4", "--loops=10", "--verify_backlog=256")
    time.sleep(0.5)
    before = mounted.status()
    os.kill(before["process"], signal.SIGKILL)
    after = mounted.wait(state="serving", process=before["serving_process"])
    assert after["serving_process"] != before["serving_process"]
    mounted.kill("serving_process")
    mounted.wait(state="serving", restarts=2)
    _ended_well(load)
    mounted.go("stop", "db")


def test_a_restart_under_verified_writes(mounted: CacheLab) -> None:
    mounted.make(size_mib=24)
    mounted.start()
    load = _fio(mounted, "--rw=randrw", "--bs=8k", "--iodepth=4", "--loops=8", "--verify_backlog=256")
    for _ in range(3):
        time.sleep(0.3)
        before = mounted.status()["serving_process"]
        told = mounted.go("restart", "db")
        assert told["serving_process"] != before
    _ended_well(load)
    mounted.go("stop", "db", "--drain")


def _blocks(count: int) -> list[bytes]:
    return [os.urandom(4096) for _ in range(count)]


def test_both_are_killed_and_what_was_flushed_is_there(mounted: CacheLab) -> None:
    mounted.make()
    mounted.start()
    blocks = _blocks(300)
    handle = os.open(mounted.device, os.O_RDWR)
    for number, block in enumerate(blocks):
        os.pwrite(handle, block, number * 65536)
    os.fsync(handle)
    status = mounted.status()
    _kill_both(status["process"], status["serving_process"])
    with pytest.raises(OSError):
        os.fsync(handle)
    os.close(handle)
    found = mounted.status()
    assert (found["state"], found["running"], found["safe_to_unplug"]) == ("not stopped cleanly", False, False)
    mounted.start()  # clears the dead mount away
    content = mounted.device.read_bytes()
    assert [content[number * 65536 : number * 65536 + 4096] for number in range(300)] == blocks
    mounted.go("stop", "db")


def _kill_both(*processes: int) -> None:
    for process in processes:
        os.kill(process, signal.SIGSTOP)
    for process in processes:
        os.kill(process, signal.SIGKILL)
    until = time.monotonic() + PATIENCE_S
    while any(Path(f"/proc/{one}/stat").exists() and not _is_zombie(one) for one in processes):
        assert time.monotonic() < until
        time.sleep(0.01)


def _is_zombie(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def test_a_dirty_cache_is_checked_and_drained_offline_after_a_crash(mounted: CacheLab) -> None:
    mounted.make()
    mounted.start()
    blocks = _blocks(200)
    handle = os.open(mounted.device, os.O_RDWR)
    for number, block in enumerate(blocks):
        os.pwrite(handle, block, number * 16384)
    os.fsync(handle)
    os.close(handle)
    status = mounted.status()
    _kill_both(status["process"], status["serving_process"])
    subprocess.run(["umount", "--lazy", mounted.mount], check=True)
    found = mounted.go("check", "db")
    assert found["dirty_blocks"] == 200 and found["damaged"] == [] and found["state"] != "stopped"
    assert mounted.go("drain", "db")["written_blocks"] == 200
    content = mounted.backing.read_bytes()
    assert [content[number * 16384 : number * 16384 + 4096] for number in range(200)] == blocks
    assert mounted.go("check", "db")["safe_to_unplug"] is True
    mounted.go("destroy", "db")


def test_bit_rot_in_a_dirty_block_is_named_and_not_written_back(mounted: CacheLab) -> None:
    mounted.make()
    mounted.start()
    block = os.urandom(16384)
    with mounted.device.open("r+b") as handle:
        handle.seek(3 * MIB)
        handle.write(block)
        handle.flush()
        os.fsync(handle.fileno())
    mounted.go("stop", "db")
    content = bytearray(mounted.fast.read_bytes())
    at = content.find(block)
    assert at > 0
    content[at + 100] ^= 1
    mounted.fast.write_bytes(content)
    ran = mounted.run("check", "db", "--json")
    assert ran.code == 1 and "1 dirty blocks are damaged" in ran.error
    assert f'"slow_offset": {3 * MIB}' in ran.stdout
    ran = mounted.run("drain", "db")
    assert ran.code == 1 and "are damaged and stay" in ran.error
    with mounted.backing.open("rb") as handle:
        handle.seek(3 * MIB)
        assert handle.read(16384) == bytes(16384)
