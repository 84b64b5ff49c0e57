"""What an earlier run left of a cell: whether it can be gone on with, and that nothing measured is thrown away.

A journal with measured seconds is never deleted. Either the cell goes on with it, or its folder is moved to the
result's `set-aside/`, and the user is told where it is and why. Of a modelled cell the same seconds are computed again:
what was set aside goes when the new journal begins with it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from flatwater.errors import FlatwaterError, UserError
from flatwater.experiment import Experiment
from flatwater.results import Cell, Phase
from flatwater.results.journal_phases import add_to_phases
from flatwater.results.phases import MEASURE, VERIFY, WARMUP, measured_s
from flatwater.results.result import EARLIER, SET_ASIDE, remove_cell
from flatwater.results.schema import CellSummary
from flatwater.results.series import read_journal
from flatwater.results.stored import read_json, validate
from flatwater.runner.schedule import UntilSteady


class CannotResume(FlatwaterError):
    """What a cell stood on is not as its run left it."""


@dataclass(frozen=True)
class Left:
    """What an earlier run left of a cell."""

    #: Of the journal's own marks.
    phases: Sequence[Phase] = ()
    #: Seconds that were measured. With none of them there is nothing to lose.
    measured_s: float = 0.0
    #: Whether the measurement was over, and only what follows it is missing.
    over: bool = False
    #: When the journal was last written to, seconds since the epoch.
    ended_at: float = 0.0
    #: Why nothing can go on with it, whatever it stood on; None if there is no such reason.
    why_not: str | None = None
    #: Where the cell was kept that it is of.
    folder: Path = field(default_factory=Path)

    @property
    def drained(self) -> bool:
        """Whether what was outstanding had come to an end: the read-back had begun."""
        return bool(self.phases) and self.phases[-1].name == VERIFY


def look_back(cell: Cell, experiment: Experiment) -> Left:
    """Reads what an earlier run left of a cell."""
    journal = cell.journal
    try:
        phases = _phases(journal)
        ended_at = journal.stat().st_mtime
    except FileNotFoundError:
        return Left(folder=cell.folder)
    except UserError as error:
        return Left(measured_s=float("nan"), why_not=f"its journal is damaged ({error.what})", folder=cell.folder)
    seconds = measured_s(phases)
    if not seconds:
        return Left(phases, ended_at=ended_at, folder=cell.folder)
    if experiment.workload.steady_state == "snia":
        over = _rounds_are_over(journal, experiment)
        why_not = None if over else "SNIA's rounds have no gap between them"
    else:
        over = seconds >= experiment.workload.duration_s - experiment.record.interval_s / 2
        why_not = None
    return Left(phases, seconds, over, ended_at, _why_failed(cell) or why_not, cell.folder)


def set_aside(cell: Cell) -> Path | None:
    """Moves what an earlier run left of a cell out of the way, if anything was measured; its new place.

    Without a measured second it is deleted: there is nothing in it that a new run does not make again.
    """
    folder = cell.folder
    if not folder.exists():
        return None
    if not _holds_measurement(cell):
        remove_cell(folder)
        return None
    place = cell.result.path / SET_ASIDE
    place.mkdir(exist_ok=True)
    for number in count(1):
        target = place / f"{folder.name}-{number}"
        if not os.path.lexists(target):
            folder.rename(target)
            return target
    raise AssertionError("unreachable")


def asides(cell: Cell) -> list[Path]:
    """What was set aside of a cell, by whatever run."""
    return sorted((cell.result.path / SET_ASIDE).glob(f"{cell.folder.name}-*"))


def told_aside(left: Left, aside: Path, why: str) -> str:
    """What the user is told of it."""
    what = f"the {left.measured_s:.3g} s measured before" if left.measured_s > 0 else "what was measured before"
    return f"cannot go on with {what}: {why}; kept in {aside}, measuring anew"


def forget_if_repeated(aside: Path, journal: Path) -> bool:
    """Deletes what was set aside if the new journal begins with its whole lines, byte for byte; whether it did."""
    try:
        with (aside / journal.name).open("rb") as before, journal.open("rb") as now:
            # A kill may have torn the last line.
            same = all(then == now.readline() for then in before if then.endswith(b"\n"))
    except OSError:
        return False
    if same:
        remove_cell(aside)
        # Others may be in it.
        with suppress(OSError):
            aside.parent.rmdir()
    return same


def _phases(journal: Path) -> list[Phase]:
    phases: list[Phase] = []
    for line in read_journal(journal):
        add_to_phases(phases, line)
    if not journal.exists():
        raise FileNotFoundError(journal)
    return phases


def _holds_measurement(cell: Cell) -> bool:
    """Also what cannot be read, or has no journal but a summary, may hold some."""
    try:
        return bool(measured_s(_phases(cell.journal)))
    except FileNotFoundError:
        return any(cell.folder.glob("series-*.parquet"))
    except UserError:
        return True


def _why_failed(cell: Cell) -> str | None:
    """Why what an earlier run measured is no part of a sound run: it failed while it ran. One that only could not be
    taken up (a disk that was not mounted) tells of no phases.
    """
    earlier = _earlier(cell)
    if earlier is None or earlier.status != "failed" or not earlier.phases:
        return None
    return f"it had failed ({earlier.error})"


def _earlier(cell: Cell) -> CellSummary | None:
    path = cell.folder / EARLIER
    if not path.exists():
        return None
    try:
        return validate(CellSummary, read_json(path), path)
    except UserError:
        return None


def _rounds_are_over(journal: Path, experiment: Experiment) -> bool:
    """Shows the rounds to SNIA's rule again. What a seam divides is no sequence of rounds."""
    rule = UntilSteady(experiment)
    began_s: float | None = None
    for line in read_journal(journal):
        event = line.get("event")
        if isinstance(event, dict) and event.get("kind") == "seam" and began_s is not None:
            break
        if line.get("phase") not in (WARMUP, MEASURE):
            continue
        start_s, end_s = float(line["start_s"]), float(line["time_s"])
        began_s = start_s if began_s is None else began_s
        if rule.over(start_s - began_s, end_s - began_s, line["metrics"].get("workload.throughput") or 0.0):
            return True
    return False
