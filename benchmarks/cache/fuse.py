"""The cache through FUSE: hits beside the same file with no cache, the transport beside the file, durable writes.

Each figure is one run of fio; what is divided stands side by side. The cache is made and served by flatwater's example
server (`cargo build --release --example cache_serve -p flatwater-serve`): nothing of the command line is in it.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.job import BLOCK_BYTES, run_child
from benchmarks.pairs import Ratio, Target, alternating, ratio
from benchmarks.tables import table
from flatwater.errors import FlatwaterError

#: Where cargo puts the server.
SERVER = Path(__file__).parents[2] / "target" / "release" / "examples" / "cache_serve"
#: The cached device, and the cache with room for all of it, its journal and its checkpoints.
SLOW_BYTES = 1 << 30
FAST_BYTES = SLOW_BYTES + (128 << 20)
#: What a user of a cache gives away for hits, next to the same transport with no cache behind it.
HITS = Target("at least", 0.75)
#: What a user of FUSE gives away, next to the file itself.
TRANSPORT = Target("at least", 0.7)
#: Kernel caches get less (0.2 to 0.5).
DURABLE = Target("at least", 0.7)
#: How long a server may take to begin, or to end.
_PATIENCE_S = 60.0


@dataclass(frozen=True)
class Comparison:
    """Two medians in requests a second, their ratio round by round, and what it is held against."""

    title: str
    against: str
    ours: float
    theirs: float
    ratio: Ratio
    target: Target

    def cells(self) -> list[str]:
        """The row of a table."""
        spread = f"{self.ratio.median:.3f} [{self.ratio.low:.3f}, {self.ratio.high:.3f}]"
        numbers = [f"{self.ours:,.0f}", f"{self.theirs:,.0f}", spread, self.target.text()]
        return [self.title, self.against, *numbers, self.ratio.verdict(self.target)]


@dataclass(frozen=True)
class _Job:
    """What fio does to a file, alike for all."""

    mode: str
    engine: str
    depth: int
    durable: bool = False


_HITS = _Job("randread", "io_uring", 32)
_DURABLE = _Job("randwrite", "psync", 1, durable=True)


def compare(folder: Path, seconds: float, rounds: int, told: Callable[[str], None]) -> list[Comparison]:
    """All comparisons, `seconds` for each run, with their files in `folder` (2.2 GiB). Errors: FlatwaterError."""
    slow, fast, pair = folder / "slow.img", folder / "fast.img", folder / "pair.img"
    _lay_out(slow, SLOW_BYTES)
    _lay_out(fast, FAST_BYTES)
    pair.write_bytes(bytes(4096))
    spec: dict[str, object] = {"fast": str(fast), "slow": str(slow), "pair": str(pair)}
    cached = {**spec, "settings": {"admission": "all", "sequential_bytes": 0}}
    run_child([str(SERVER), "--make", str(BLOCK_BYTES), json.dumps(spec)], folder)
    found: dict[tuple[str, _Job], list[float]] = {}
    for number, contestant in alternating(("file", "plain", "cache"), rounds):
        if contestant == "file":
            rates = {_HITS: _rate(slow, _HITS, seconds, number), _DURABLE: _rate(slow, _DURABLE, seconds, number)}
        else:
            with _served(folder, cached if contestant == "cache" else {**spec, "plain": True}) as device:
                if contestant == "cache":
                    _read_all(device)
                rates = {_HITS: _rate(device, _HITS, seconds, number)}
                if contestant == "cache":
                    rates[_DURABLE] = _rate(device, _DURABLE, seconds, number)
        for job, rate in rates.items():
            found.setdefault((contestant, job), []).append(rate)
        told(f"FUSE, {contestant}: " + " / ".join(f"{rate:,.0f}" for rate in rates.values()) + " IOPS")
    return [
        _compare(found, "hits, random read, depth 32", ("cache", "plain"), _HITS, HITS),
        _compare(found, "the transport, random read, depth 32", ("plain", "file"), _HITS, TRANSPORT),
        _compare(found, "random write, fdatasync after each", ("cache", "file"), _DURABLE, DURABLE),
    ]


def missing() -> str | None:
    """Why nothing can be measured, or None."""
    if os.geteuid() != 0 or not Path("/dev/fuse").exists():
        return "mounting needs root and /dev/fuse"
    return None if SERVER.exists() else f"{SERVER.name} is not built (cargo build --release --example {SERVER.name})"


def section(found: list[Comparison]) -> str:
    """The part of the page."""
    head = ["16 KiB", "against", "IOPS", "its IOPS", "ratio", "target", ""]
    return f"""\
## Through FUSE
One file and one client (fio, which bypasses the page cache). *The transport* is the same server without a cache. Hits
are reads of a cache that contains the whole file; they are compared with the transport. Durable writes have an
fdatasync after each; they are compared with the file itself.

{table(head, [one.cells() for one in found])}
"""


_AGAINST = {"plain": "FUSE with no cache", "file": "the file itself"}


def _compare(
    found: dict[tuple[str, _Job], list[float]], title: str, sides: tuple[str, str], job: _Job, target: Target
) -> Comparison:
    ours, theirs = found[sides[0], job], found[sides[1], job]
    middle = len(ours) // 2
    return Comparison(
        title, _AGAINST[sides[1]], sorted(ours)[middle], sorted(theirs)[middle], ratio(ours, theirs), target
    )


def _lay_out(path: Path, size_bytes: int) -> None:
    """A file of zeros that are really there: a first write to a hole costs its file system a commit."""
    with path.open("wb") as file:
        for _ in range(size_bytes >> 20):
            file.write(bytes(1 << 20))


@contextmanager
def _served(folder: Path, spec: dict[str, object]) -> Iterator[Path]:
    """The served device's file. Errors: FlatwaterError with the server's last words."""
    mount = folder / "mount"
    mount.mkdir(exist_ok=True)
    command = [str(SERVER), "--mount", str(mount), json.dumps(spec)]
    with (folder / "server.log").open("w") as log:
        server = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=log, stderr=log)
    device = mount / "cached"
    try:
        until = time.monotonic() + _PATIENCE_S
        while "serving" not in (folder / "server.log").read_text():
            if server.poll() is not None or time.monotonic() > until:
                raise FlatwaterError(f"the cache cannot be served: {(folder / 'server.log').read_text().strip()}")
            time.sleep(0.05)
        yield device
    finally:
        # The end of its input is how it learns that it is over.
        server.communicate(timeout=_PATIENCE_S)


def _read_all(device: Path) -> None:
    """So that all of it is in the cache, and all that came in is written."""
    with device.open("rb", buffering=0) as file:
        while file.read(1 << 20):
            pass
    time.sleep(2)


def _rate(path: Path, job: _Job, seconds: float, seed: int) -> float:
    """Requests a second. Errors: FlatwaterError when fio fails."""
    words = [
        "fio",
        "--name=bench",
        f"--filename={path}",
        f"--size={SLOW_BYTES}",
        f"--rw={job.mode}",
        f"--bs={BLOCK_BYTES}",
        f"--ioengine={job.engine}",
        "--direct=1",
        f"--iodepth={job.depth}",
        "--norandommap=1",
        f"--randseed={seed}",
        "--time_based",
        f"--runtime={seconds:g}",
        "--output-format=json",
        *(["--fdatasync=1"] if job.durable else []),
    ]
    output = run_child(words, path.parent).output
    try:
        ran = json.loads(output[output.index("{") :])["jobs"][0]
        side = ran["write" if job.mode == "randwrite" else "read"]
        return float(side["total_ios"]) * 1000 / float(side["runtime"])
    except (ValueError, KeyError, IndexError, TypeError, ZeroDivisionError) as error:
        raise FlatwaterError(f"fio's output is not understood: {error!r}") from None
