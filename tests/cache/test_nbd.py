"""A cache over NBD, with the clients that people use: alone, beside its mount, and while its process is killed."""

from __future__ import annotations

import os
import shutil
import signal
import socket as python_socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from cachelab import MIB, CacheLab


@pytest.fixture
def socket() -> Iterator[Path]:
    """Where a cache listens: a socket's path must be short."""
    with tempfile.TemporaryDirectory(prefix="fw-", dir="/tmp") as folder:
        yield Path(folder) / "nbd"


def _require(*programs: str) -> None:
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed (libnbd-bin, python3-libnbd, fio)")


def _address(socket: Path) -> str:
    return f"nbd+unix:///db?socket={socket}"


def _call(*command: str | Path, cwd: Path | None = None) -> str:
    # libnbd's modules belong to the system's own Python, which may not be the first.
    environment = os.environ | {"PATH": f"/usr/bin:/bin:{os.environ['PATH']}"}
    ran = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=120, env=environment, cwd=cwd)
    assert ran.returncode == 0, ran
    return ran.stdout


def _shell(socket: Path, script: str) -> str:
    _require("nbdsh")
    return _call("nbdsh", "-u", _address(socket), "-c", script)


def _kill_both(caches: CacheLab) -> None:
    status = caches.status()
    both = (int(status["process"]), int(status["serving_process"]))
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for process in both:
            os.kill(process, number)


def test_what_is_copied_and_flushed_is_there_after_everything_died(caches: CacheLab, socket: Path) -> None:
    _require("nbdcopy")
    caches.make(size_mib=96)
    caches.go("start", "db", "--nbd", socket)
    image = caches.folder / "image"
    image.write_bytes(os.urandom(64 * MIB))
    _call("nbdcopy", "--flush", "--connections=4", "--requests=32", image, _address(socket))
    _kill_both(caches)
    caches.go("start", "db", "--nbd", socket)
    back = caches.folder / "back"
    _call("nbdcopy", "--connections=4", "--requests=32", _address(socket), back)
    assert back.read_bytes() == image.read_bytes()
    told = caches.go("stop", "db", "--drain")
    assert told["safe_to_unplug"] is True
    assert caches.backing.read_bytes() == image.read_bytes()


def test_the_mount_and_nbd_see_each_others_writes(mounted: CacheLab, socket: Path) -> None:
    mounted.make()
    told = mounted.start("--nbd", socket)
    assert told["nbd"] == str(socket) and told["device"] == str(mounted.device)
    with mounted.device.open("r+b", buffering=0) as handle:
        os.pwrite(handle.fileno(), b"m" * 8192, MIB)
        _shell(socket, f"assert h.pread(8192, {MIB}) == b'm' * 8192; h.pwrite(b'n' * 4096, {MIB}, nbd.CMD_FLAG_FUA)")
        assert os.pread(handle.fileno(), 8192, MIB) == b"n" * 4096 + b"m" * 4096
        _shell(socket, f"h.zero(4096, {MIB + 4096}); h.trim(16384, {2 * MIB}); h.cache({MIB}, 0); h.flush()")
        assert os.pread(handle.fileno(), 8192, MIB) == b"n" * 4096 + bytes(4096)
    statistics = mounted.status()["statistics"]
    assert statistics["writes"] == 4 and statistics["flushes"] >= 1


def test_fio_verifies_over_nbd_and_the_mount_at_once(mounted: CacheLab, socket: Path) -> None:
    _require("fio")
    if "nbd" not in _call("fio", "--enghelp"):
        pytest.skip("this fio has no nbd engine")
    mounted.make(size_mib=24)
    mounted.start("--nbd", socket)
    common = ["--rw=randrw", "--bsrange=4k-64k", "--iodepth=8", "--size=24m", "--verify=crc32c", "--verify_fatal=1"]
    common += ["--fsync=32", "--loops=2", "--verify_backlog=64"]
    over = ["--name=nbd", "--ioengine=nbd", f"--uri={_address(socket)}", "--offset=0", *common]
    beside = [
        "--name=mount",
        f"--filename={mounted.device}",
        "--ioengine=libaio",
        "--direct=1",
        "--offset=32m",
        *common,
    ]
    told = _call("fio", *over, *beside, cwd=mounted.folder)
    assert told.count("err= 0") == 2, told
    mounted.go("stop", "db")
    assert mounted.go("check", "db")["damaged"] == []


def test_clients_that_come_while_the_process_is_replaced_wait(caches: CacheLab, socket: Path) -> None:
    _require("nbdinfo")
    caches.make()
    caches.go("start", "db", "--nbd", socket)
    kept = socket.stat().st_ino
    _shell(socket, "h.pwrite(b'a' * 4096, 0); h.flush()")
    for number in range(3):
        caches.kill("serving_process")
        # At once: the supervisor holds the socket, and the next child takes who waits there.
        _shell(socket, "assert h.pread(4096, 0) == b'a' * 4096")
        caches.wait(restarts=number + 1)
    caches.go("restart", "db")
    _shell(socket, "assert h.pread(4096, 0) == b'a' * 4096")
    caches.kill("process")
    _shell(socket, "assert h.pread(4096, 0) == b'a' * 4096")
    assert socket.stat().st_ino == kept, "it is the same all the time"
    caches.wait(state="serving")
    caches.go("stop", "db")
    assert not socket.exists()


def test_a_connected_client_is_named_and_not_cut_off_without_force(caches: CacheLab, socket: Path) -> None:
    _require("nbdsh")
    caches.make()
    caches.go("start", "db", "--nbd", socket)
    environment = os.environ | {"PATH": f"/usr/bin:/bin:{os.environ['PATH']}"}
    script = "print(flush=True); input()"
    with subprocess.Popen(
        ["nbdsh", "-u", _address(socket), "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
    ) as client:
        assert client.stdout is not None
        client.stdout.readline()
        assert caches.status()["nbd_clients"] == 1
        said = caches.refused("stop", "db", code=1)
        assert "is in use: 1 connection" in said and f"(process {client.pid})" in said and "--force" in said
        assert caches.status()["state"] == "serving" and socket.is_socket()
        caches.go("stop", "db", "--force")
        client.communicate(b"\n")
    assert not socket.exists()


def test_a_place_for_a_socket_that_cannot_be_is_refused(caches: CacheLab, socket: Path) -> None:
    caches.make()
    start = ("start", "db", "--nbd")
    assert "is not a directory" in caches.refused(*start, socket.parent / "no" / "nbd")
    socket.write_bytes(b"precious")
    assert "exists and is no socket" in caches.refused(*start, socket)
    assert socket.read_bytes() == b"precious"
    socket.unlink()
    assert "than the 107 bytes" in caches.refused(*start, socket.parent / ("x" * 108))
    with python_socket.socket(python_socket.AF_UNIX) as listener:
        listener.bind(str(socket))
        listener.listen()
        assert "somebody listens at" in caches.refused(*start, socket)


def test_a_socket_that_another_program_left_is_not_replaced(caches: CacheLab, socket: Path) -> None:
    """Nobody listens there now; its program may come again, or know it by its name."""
    caches.make()
    with python_socket.socket(python_socket.AF_UNIX) as foreign:
        foreign.bind(str(socket))
    before = socket.stat()
    said = caches.refused("start", "db", "--nbd", socket)
    assert "is a socket that cache db did not make" in said and f"rm {socket}" in said
    assert (socket.stat().st_ino, socket.stat().st_ctime_ns) == (before.st_ino, before.st_ctime_ns)
    socket.unlink()
    caches.go("start", "db", "--nbd", socket)
    caches.go("stop", "db")


def test_a_socket_that_a_killed_cache_left_is_replaced_whoever_may_use_it(caches: CacheLab, socket: Path) -> None:
    caches.make()
    caches.go("start", "db", "--nbd", socket)
    socket.chmod(0o660)
    both = [caches.status()[name] for name in ("process", "serving_process")]
    # Both at once: each would replace the other.
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for process in both:
            os.kill(process, number)
    caches.wait(running=False)
    assert socket.is_socket()
    caches.go("start", "db", "--nbd", socket)
    caches.go("stop", "db")
    assert not socket.exists()
