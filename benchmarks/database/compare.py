"""One row: flatwater's ways and the peer in turns on the same tables."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.database.place import at
from benchmarks.database.programs import Program
from benchmarks.database.rows import Row, Way
from benchmarks.database.server import TestedServer
from benchmarks.database.work import Outcome, Place, Setting, Work
from benchmarks.job import run_child
from benchmarks.pairs import Ratio, alternating, ratio

#: Starts of which the median is taken off a whole process's CPU time.
STARTS = 3


@dataclass(frozen=True)
class Measured:
    """One way of flatwater against the peer: medians over the rounds, ours first; CPU times are ms for 1000."""

    work: Work
    place: Place
    way: Way
    peer: str
    rate: tuple[float, float]
    cpu_ms: tuple[float, float]
    whole_cpu_ms: tuple[float, float]
    server_cpu_ms: tuple[float, float]
    rate_ratio: Ratio
    cpu_ratio: Ratio
    whole_ratio: Ratio


@dataclass(frozen=True)
class Turn:
    """An outcome, and the server's CPU time from the program's start to its end."""

    outcome: Outcome
    server_cpu_s: float

    def per_1000_ms(self, seconds: float) -> float:
        """CPU seconds as ms for 1000 transactions or queries."""
        return seconds * 1e6 / self.outcome.count


def compare(
    row: Row, setting: Setting, server: TestedServer, rounds: int, tell: Callable[[str], None]
) -> list[Measured]:
    """Runs flatwater's ways and the peer in turns; what each way gave against the peer."""
    programs: tuple[Program, ...] = (*(way.program for way in row.ways), row.peer)
    # A folder for each row: the results of two places have the same names.
    folder = Path(tempfile.mkdtemp(dir=setting.folder))
    setting = replace(setting, folder=folder, address=server.address(row.place.link))
    starts = {program.name: start_cpu_s(program, row.work, setting) for program in programs}
    turns: dict[str, list[Turn]] = {program.name: [] for program in programs}
    with at(row.place, server.pid) as prefix:
        for number, program in alternating(programs, rounds):
            before_s = server.cpu_s()
            command = [*prefix, *program.command(row.work, setting, number + 1)]
            finished = run_child(command, setting.folder, program.environment(setting.address))
            outcome = program.outcome(row.work, finished, starts[program.name])
            turns[program.name].append(Turn(outcome, server.cpu_s() - before_s))
    measured = [_measured(row, way, turns[way.program.name], turns[row.peer.name]) for way in row.ways]
    for one in measured:
        tell(
            f"{row.title}, {one.way.program.name} against {one.peer}: "
            f"{one.work.unit} {one.rate[0]:,.0f} / {one.rate[1]:,.0f} = {one.rate_ratio.median:.3f}, client CPU "
            f"{one.cpu_ms[0]:.1f} / {one.cpu_ms[1]:.1f} ms/1000 = {one.cpu_ratio.median:.3f}"
        )
    return measured


def start_cpu_s(program: Program, work: Work, setting: Setting) -> float:
    """CPU time of the program when it only starts, connects and ends."""
    environment = program.environment(setting.address)
    commands = [program.idle_command(work, setting, number) for number in range(STARTS)]
    return statistics.median(run_child(command, setting.folder, environment).cpu_s for command in commands)


def _measured(row: Row, way: Way, ours: Sequence[Turn], theirs: Sequence[Turn]) -> Measured:
    def figures(figure: Callable[[Turn], float]) -> tuple[list[float], list[float]]:
        return [figure(turn) for turn in ours], [figure(turn) for turn in theirs]

    def medians(sides: tuple[list[float], list[float]]) -> tuple[float, float]:
        return statistics.median(sides[0]), statistics.median(sides[1])

    rate = figures(lambda turn: turn.outcome.rate)
    cpu = figures(lambda turn: turn.per_1000_ms(turn.outcome.cpu_s))
    whole = figures(lambda turn: turn.per_1000_ms(turn.outcome.whole_cpu_s))
    server = figures(lambda turn: turn.per_1000_ms(turn.server_cpu_s))
    return Measured(
        work=row.work,
        place=row.place,
        way=way,
        peer=row.peer.name,
        rate=medians(rate),
        cpu_ms=medians(cpu),
        whole_cpu_ms=medians(whole),
        server_cpu_ms=medians(server),
        rate_ratio=ratio(*rate),
        cpu_ratio=ratio(*cpu),
        whole_ratio=ratio(*whole),
    )
