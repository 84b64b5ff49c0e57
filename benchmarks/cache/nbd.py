"""The NBD server beside nbdkit's file plugin.

Both serve the same file on a unix socket to the same client: fio with its nbd engine. Our server has no cache behind it
(the example `nbd_file`), so that the servers are compared, not their storage.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import statistics
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from benchmarks.job import BLOCK_BYTES, run_child
from benchmarks.options import tell
from benchmarks.pairs import Ratio, Target, alternating, ratio
from benchmarks.tables import judged, table
from flatwater.errors import FlatwaterError, UserError

#: The issue's figure.
NOT_SLOWER = Target("at least", 1.0)
#: How long a server may take to listen, and to end.
PATIENCE_S = 20.0
EXAMPLE = Path(__file__).parents[2] / "target/release/examples/nbd_file"
_CLOCK_HZ = os.sysconf("SC_CLK_TCK")

Place = Literal["from storage", "from memory", "to storage"]


@dataclass(frozen=True)
class Row:
    """Random requests of 16 KiB from so many connections, so many at once on each."""

    place: Place
    connections: int
    depth: int

    @property
    def writes(self) -> bool:
        """Whether it writes."""
        return self.place == "to storage"

    @property
    def cached(self) -> bool:
        """Whether both servers go through the page cache, which holds all of the file."""
        return self.place == "from memory"

    @property
    def title(self) -> str:
        """The row in a table's cell."""
        what = "random write" if self.writes else "random read"
        many = f"{self.connections} connection{'s' if self.connections > 1 else ''}"
        return f"{what} {self.place}, {many}, depth {self.depth}"


#: Depth 32 on one connection, on four together, and on each of four.
ROWS = tuple(
    Row(place, connections, depth)
    for place in ("from storage", "from memory", "to storage")
    for connections, depth in ((1, 32), (4, 8), (4, 32))
)


@dataclass
class Found:
    """What was measured of a row, round by round: ours and nbdkit's, and the servers' CPU time for a request."""

    row: Row
    iops: tuple[list[float], list[float]] = field(default_factory=lambda: ([], []))
    cpu_us: tuple[list[float], list[float]] = field(default_factory=lambda: ([], []))

    @property
    def against(self) -> Ratio:
        """Requests a second, ours over nbdkit's."""
        return ratio(*self.iops)

    @property
    def cpu_against(self) -> Ratio:
        """CPU time for a request, ours over nbdkit's."""
        return ratio(*self.cpu_us)


def missing() -> str | None:
    """Why nothing can be measured."""
    if shutil.which("nbdkit") is None or shutil.which("fio") is None:
        return "nbdkit or fio is not installed (hint: sudo apt-get install nbdkit fio)"
    engines = subprocess.run(["fio", "--enghelp"], capture_output=True, text=True, check=False).stdout.split()
    if "nbd" not in engines:
        return "this fio has no nbd engine"
    if not EXAMPLE.exists():
        return "the server is not built (hint: cargo build --release -p flatwater-serve --example nbd_file)"
    return None


@contextmanager
def serving(ours: bool, file: Path, socket: Path, row: Row) -> Iterator[int]:
    """A server of the file, as long as the block lasts: its process. Errors: FlatwaterError when it does not begin."""
    if ours:
        command = [str(EXAMPLE), str(file), str(socket), "buffered" if row.cached else "direct"]
    else:
        command = ["nbdkit", "--foreground", "--unix", str(socket), "file", str(file)]
        # Else its writes end in the page cache, and what is written twice reaches the storage once.
        command += ["cache=none"] if row.place == "to storage" else []
    deadline = time.monotonic() + PATIENCE_S
    child = subprocess.Popen(command, stdin=subprocess.PIPE)
    try:
        while not socket.exists():
            if child.poll() is not None or time.monotonic() > deadline:
                raise FlatwaterError(f"{Path(command[0]).name} does not serve (exit code {child.returncode})")
            time.sleep(0.02)
        yield child.pid
    finally:
        assert child.stdin is not None
        child.stdin.close()
        if not ours:
            child.terminate()
        try:
            child.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        socket.unlink(missing_ok=True)
        # The kernel lets go of a ring's files a moment after its process has ended.
        time.sleep(0.5)


def measure_once(row: Row, ours: bool, file: Path, seconds: int, seed: int) -> tuple[float, float]:
    """Requests a second, and the server's CPU time for each, us. Errors: FlatwaterError."""
    settle(file, warm=row.cached)
    socket = file.with_name("socket")
    with serving(ours, file, socket, row) as server:
        command = [
            "fio",
            "--name=nbd",
            "--ioengine=nbd",
            f"--uri=nbd+unix:///?socket={socket}",
            f"--rw={'randwrite' if row.writes else 'randread'}",
            f"--bs={BLOCK_BYTES}",
            f"--size={file.stat().st_size}",
            f"--iodepth={row.depth}",
            f"--numjobs={row.connections}",
            "--norandommap=1",
            f"--randseed={seed}",
            "--time_based",
            f"--runtime={seconds}",
            "--group_reporting",
            "--output-format=json",
        ]
        before_s, begin = _cpu_s(server), time.monotonic()
        finished = run_child(command, file.parent)
        took_s = time.monotonic() - begin
        # fio says something before its JSON.
        job = json.loads(finished.output[finished.output.index("{") :])["jobs"][0]
        side = job["write" if row.writes else "read"]
        requests = side["total_ios"]
        if not requests or job["error"]:
            raise FlatwaterError(f"fio over NBD: {requests} requests, error {job['error']}")
        if not row.writes:
            return side["iops"], (_cpu_s(server) - before_s) / requests * 1e6
        # What a server has taken and not written is still owed. fio's own start and end are the same for both.
        begin = time.monotonic()
        with file.open("rb+") as opened:
            os.fdatasync(opened.fileno())
        took_s += time.monotonic() - begin
        return requests / took_s, (_cpu_s(server) - before_s) / requests * 1e6


def settle(file: Path, warm: bool) -> None:
    """Everything written, and all of the file in the page cache or nothing of it."""
    with file.open("rb+") as opened:
        os.fdatasync(opened.fileno())
        if not warm:
            os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            return
        buffer = ctypes.create_string_buffer(1 << 20)
        while opened.readinto(buffer):
            pass


def _cpu_s(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _CLOCK_HZ


def compare(folder: Path, size_bytes: int, seconds: int, rounds: int) -> list[Found]:
    """All rows, in pairs that stand side by side. Errors: UserError, FlatwaterError."""
    why = missing()
    if why is not None:
        raise UserError(why, where="--only")
    file = folder / "served"
    with file.open("wb") as opened:
        block = os.urandom(1 << 20)
        for _ in range(size_bytes >> 20):
            opened.write(block)
    found = []
    for row in ROWS:
        own = Found(row)
        for number, contestant in alternating(("ours", "theirs"), rounds):
            side = 0 if contestant == "ours" else 1
            iops, cpu_us = measure_once(row, side == 0, file, seconds, number + 1)
            own.iops[side].append(iops)
            own.cpu_us[side].append(cpu_us)
        tell(f"{row.title}: {own.against.median:.3f}x nbdkit's IOPS, {own.cpu_against.median:.3f}x its CPU time")
        found.append(own)
    return found


def section(found: list[Found]) -> str:
    """The part of the page."""
    rows = []
    for own in found:
        iops = [f"{statistics.median(side):,.0f}" for side in own.iops]
        cpu = [f"{statistics.median(side):.1f}" for side in own.cpu_us]
        rows.append([own.row.title, *iops, *judged(own.against, NOT_SLOWER), *cpu, *judged(own.cpu_against, None)[:1]])
    head = ["16 KiB", "IOPS", "nbdkit's", "ratio", "target", "", "server CPU, us", "nbdkit's", "ratio"]
    return f"""\
## The NBD server

Compared with nbdkit's file plugin: one file, one client (fio's nbd engine), and no flash cache. *From storage*:
flatwater bypasses the page cache; nbdkit uses it, and it contains nothing of the file at the start. *To storage*:
flatwater bypasses it, and nbdkit has `cache=none`. *From memory*: both use the page cache, which contains the whole
file. Data that are not written when fio ends are written then, and that time counts. The server's CPU time is that of
its process; it does not include the kernel's write-back.

{table(head, rows)}
"""
