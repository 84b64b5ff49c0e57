"""Checks, before a run, that cells are measured for long enough to get a verdict."""

from __future__ import annotations

import math
from dataclasses import dataclass

from flatwater.analysis.verdict import SAMPLES_MIN, seconds
from flatwater.experiment import Experiment, count_cells, make_cell
from flatwater.experiment.database import Server
from flatwater.experiment.sweep import Sweep
from flatwater.experiment.workload import Replay
from flatwater.results.phases import MEASURE
from flatwater.runner.schedule import Schedule, Timed, UntilSteady

#: Fields that decide the number of a cell's samples.
_FIELDS = {
    "workload.duration_s",
    "workload.warmup_s",
    "workload.steady_state",
    "workload.round_s",
    "workload.rounds_max",
    "workload.trace",
    "workload.speed",
    "workload.repeat",
    "record.interval_s",
    "database.on_crash",
    "database.fault",
    "database.fault.at_s",
    "database.fault.kind",
}
#: If a sweep has more different times than this, an even sample of them is checked.
_MOST_TIMES = 1000


@dataclass(frozen=True)
class Shortfall:
    """Cells that cannot get a verdict because they are too short."""

    #: Their number, and the number of all cells; estimated for a sweep over very many different times.
    cells: int
    of: int
    #: The reason and the hint for the first of them.
    why: str
    hint: str

    @property
    def text(self) -> str:
        """The warning, in a line."""
        what = "no cell can get a verdict" if self.of > 1 else "there can be no verdict"
        if self.cells < self.of:
            what = f"{self.cells:,} of {self.of:,} cells cannot get a verdict"
        return f"{what}: {self.why} (hint: {self.hint})"


def find_shortfall(experiment: Experiment) -> Shortfall | None:
    """The cells of an experiment that cannot get a verdict, judged by their times only; None if all can."""
    timed = [dimension for dimension in experiment.sweep.dimensions if _FIELDS & dimension.keys()]
    times = Sweep(zips=timed)
    step = math.ceil(times.positions / _MOST_TIMES)
    looked_at = range(0, times.positions, step)
    cells = [make_cell(experiment, times.values_at(position)) for position in looked_at]
    short = [cell for cell in cells if count_samples(cell) < SAMPLES_MIN]
    if not short:
        return None
    of = count_cells(experiment)
    why, hint = _explain(short[0])
    return Shortfall(max(1, round(of * len(short) / len(cells))), of, why, hint)


def count_samples(cell: Experiment) -> int:
    """The number of intervals of a cell's measured phase, at most `SAMPLES_MIN`.

    It uses the same schedule as the run, with warm-up and rounds. A resumed cell has the same number. Of SNIA's rounds,
    the last five are measured.
    """
    interval_s = round(cell.record.interval_s * 1000) / 1000
    snia = cell.workload.steady_state == "snia"
    schedule: Schedule = UntilSteady(cell) if snia else Timed(cell)
    window_s = UntilSteady(cell).window_s if snia else math.inf
    if snia and window_s > (SAMPLES_MIN + 2) * interval_s:
        return SAMPLES_MIN
    over_s = _over_s(cell)
    # The intervals before the end of the warm-up are skipped.
    number = max(0, int(cell.workload.warmup_s / interval_s) - 2)
    ends_s: list[float] = []
    while len(ends_s) < SAMPLES_MIN or snia:
        start_s, end_s = number * interval_s, (number + 1) * interval_s
        if start_s > over_s - interval_s / 2:
            break
        if schedule.phase(start_s)[0] == MEASURE:
            ends_s.append(end_s)
        if schedule.over(start_s, end_s, 1.0):
            break
        number += 1
    return min(SAMPLES_MIN, sum(end_s > ends_s[-1] - window_s + 1e-3 for end_s in ends_s))


def _over_s(cell: Experiment) -> float:
    """When the workload ends by itself, seconds after its start; infinity if that is not known."""
    over_s = math.inf
    workload, database = cell.workload, cell.database
    if isinstance(workload, Replay) and not workload.repeat and workload.speed > 0:
        over_s = workload.summary["duration_s"] / workload.speed
    if isinstance(database, Server) and database.fault is not None:
        fault = database.fault
        if fault.kind == "kill" and database.on_crash == "stop":
            over_s = min(over_s, workload.warmup_s + fault.at_s)
    return over_s


def _explain(cell: Experiment) -> tuple[str, str]:
    """Why a cell has too few samples, and a hint."""
    interval_s, workload = cell.record.interval_s, cell.workload
    snia = workload.steady_state == "snia"
    measured_s = UntilSteady(cell).window_s if snia else workload.duration_s
    field, least_s = ("round_s", SAMPLES_MIN * interval_s / 5) if snia else ("duration_s", SAMPLES_MIN * interval_s)
    rounds = "in the last five rounds " if snia else ""
    count = count_samples(cell)
    samples = f"{count} sample{'' if count == 1 else 's'} of {seconds(interval_s)}"
    why = f"{samples} {rounds}{'is' if count == 1 else 'are'} measured, and it takes {SAMPLES_MIN}"
    if measured_s >= SAMPLES_MIN * interval_s:
        return f"{why}; the workload ends before its time", "a longer trace (workload.repeat), or a later fault"
    if workload.kind == "observed":
        return why, f"observe it for longer: --for {least_s:g}s or more"
    shorter_s = math.floor(measured_s / SAMPLES_MIN * 10 + 1e-9) / 10
    other = f", or record.interval_s = {shorter_s:g}" if shorter_s >= 0.1 else ""
    return why, f"workload.{field} = {least_s:g} or more{other}"
