"""What five viewers of a run cost it."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.options import tell
from benchmarks.pages.server import serve
from benchmarks.pages.stream import Viewers
from benchmarks.pages.under_way import UnderWay, run_under_way
from benchmarks.pairs import Ratio, Target, alternating, ratio
from benchmarks.recording import Case
from benchmarks.sweep import cores
from benchmarks.tables import loss, table
from flatwater.errors import FlatwaterError
from flatwater.serve.folders import key_of

NAME = "viewers"
VIEWERS = 5
#: Throughput with viewers / throughput without.
KEPT = Target("at least", 0.995)
#: Intervals of a turn that are not counted: the server starts, or it has just ended.
SETTLE = 3
OPERATIONS = "workload.ops_per_s"

HOW = f"""\
One real run of 16 KiB random reads, watched in turns (AB BA AB): `flatwater serve` with {VIEWERS} viewers of its page,
who take every event, and no `flatwater serve` at all. A turn begins with {SETTLE} intervals that are not counted, in
which the server starts and reads what was recorded before. The ratio is that of the mean throughputs of the two turns
of a round. Reads from the page cache by as many threads as there are cores are the hardest case: every millisecond of
the server is one that the run lacks. CPU time of the server is that of the counted intervals."""


@dataclass(frozen=True)
class Watched:
    """A workload with viewers and without: requests a second (medians), the ratio, and the server's CPU."""

    case: Case
    iops: tuple[float, float]
    ratio: Ratio
    #: Of one core, %.
    server_pct: float


def cases() -> tuple[Case, ...]:
    """The workloads."""
    return Case("psync", cores(), 1, hot=True), Case("io_uring", 1, 32, hot=False)


def measure_viewers(case: Case, folder: Path, size_bytes: int, rounds: int, turn_s: int) -> Watched:
    """One run, in turns with viewers and without."""
    place = folder / f"viewers-{case.engine}"
    place.mkdir()
    turns: dict[bool, list[float]] = {True: [], False: []}
    busy: list[float] = []
    # It ends when the turns are over.
    with run_under_way(place, "run", case, size_bytes, 4 * rounds * (turn_s + SETTLE) + 600) as run:
        run.until(SETTLE)
        for _, viewers in alternating((True, False), rounds):
            if viewers:
                per_s, pct = _with_viewers(run, turn_s)
                busy.append(pct)
            else:
                per_s = throughput(_counted(run, turn_s))
            turns[viewers].append(per_s)
    found = ratio(turns[True], turns[False])
    tell(f"viewers, {case.title}: {found.median:.4f} [{found.low:.4f}, {found.high:.4f}]")
    medians = statistics.median(turns[True]), statistics.median(turns[False])
    return Watched(case, medians, found, statistics.median(busy))


def _with_viewers(run: UnderWay, turn_s: int) -> tuple[float, float]:
    """Requests a second of a turn, and how busy the server keeps a core, %."""
    key = key_of(run.result.absolute())
    with serve(run.result.parent) as server, Viewers(server.port, key, VIEWERS) as watching:
        run.until(len(run.lines) + SETTLE)
        before_s, heard = server.cpu_s(), dict(watching.heard)
        lines = _next(run, turn_s)
        spent_s = server.cpu_s() - before_s
        if any(watching.heard[one] <= before for one, before in heard.items()):
            raise FlatwaterError("flatwater serve sent a viewer nothing while the run was made")
    return throughput(lines), 100 * spent_s / seconds(lines)


def _counted(run: UnderWay, turn_s: int) -> list[dict[str, Any]]:
    run.until(len(run.lines) + SETTLE)
    return _next(run, turn_s)


def _next(run: UnderWay, count: int) -> list[dict[str, Any]]:
    """The next intervals of the run."""
    begin = len(run.lines)
    return run.until(begin + count)[begin:]


def seconds(lines: list[dict[str, Any]]) -> float:
    """How long some intervals are together."""
    return sum(float(line["time_s"]) - float(line["start_s"]) for line in lines)


def throughput(lines: list[dict[str, Any]]) -> float:
    """Requests a second over some intervals."""
    done = sum(line["metrics"][OPERATIONS] * (line["time_s"] - line["start_s"]) for line in lines)
    return float(done) / seconds(lines)


def viewers_table(found: list[Watched]) -> str:
    """The table of the page."""
    rows = [
        [
            f"16 KiB random read, {one.case.title}",
            f"{one.iops[0]:,.0f} / {one.iops[1]:,.0f}",
            f"{one.server_pct:.1f} %",
            *loss(one.ratio, KEPT, 1),
        ]
        for one in found
    ]
    head = ["workload", f"IOPS, {VIEWERS} viewers / none", "server's CPU, of a core", "loss", "target", ""]
    return table(head, rows)
