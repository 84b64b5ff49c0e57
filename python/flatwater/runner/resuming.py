"""What an earlier run left of a cell: whether the cell can be resumed with it. No measurement is thrown away.

A journal with measured seconds is never deleted. Either the cell continues it, or the cell's folder is moved to
`set-aside/` of the result, and a note says where it is and why. A modelled cell computes the same seconds again: its
old journal is deleted when the new one begins with the same lines.
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
from flatwater.results.journal_phases import add_to_phases, require_few
from flatwater.results.phases import MEASURE, VERIFY, WARMUP, measured_s
from flatwater.results.result import EARLIER, ELSEWHERE, SET_ASIDE, remove_cell
from flatwater.results.schema import CellSummary
from flatwater.results.series import read_journal
from flatwater.results.stored import read_json, validate
from flatwater.runner.schedule import UntilSteady

#: What each interval of a journal has.
_INTERVAL = {"start_s", "time_s", "metrics"}


class CannotResume(FlatwaterError):
    """The layers of a cell are not as its run left them."""


@dataclass(frozen=True)
class Left:
    """What an earlier run left of a cell."""

    #: The phases in its journal.
    phases: Sequence[Phase] = ()
    #: Seconds that were measured; 0: there is nothing to lose.
    measured_s: float = 0.0
    #: Whether the measurement was complete, so that only the phases after it are missing.
    over: bool = False
    #: Time of the last write to the journal, seconds since the epoch.
    ended_at: float = 0.0
    #: Why the cell cannot be resumed, whatever its layers are; None if there is no such reason.
    why_not: str | None = None
    #: The folder of the cell.
    folder: Path = field(default_factory=Path)

    @property
    def drained(self) -> bool:
        """Whether all outstanding requests were completed: the read-back had begun."""
        return bool(self.phases) and self.phases[-1].name == VERIFY


def read_left(cell: Cell, experiment: Experiment) -> Left:
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
        why_not = None if over else experiment.workload.cannot_go_on
    if (cell.folder / ELSEWHERE).exists():
        why_not = "a worker of a cluster measured it, and this machine cannot go on there"
    return Left(phases, seconds, over, ended_at, _why_failed(cell) or why_not, cell.folder)


def set_aside(cell: Cell) -> Path | None:
    """Moves what an earlier run left of a cell to `set-aside/`, if anything was measured; its new path.

    Without a measured second it is deleted: a new run makes all of it again.
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
    """The folders that any run has set aside of a cell."""
    return sorted((cell.result.path / SET_ASIDE).glob(f"{cell.folder.name}-*"))


def note_of_setting_aside(left: Left, aside: Path, why: str) -> str:
    """The note for the user about a measurement that was set aside."""
    what = f"the {left.measured_s:.3g} s measured before" if left.measured_s > 0 else "what was measured before"
    return f"cannot resume {what}: {why}; kept in {aside}, measuring again from the start"


def delete_if_repeated(aside: Path, journal: Path) -> bool:
    """Deletes a folder that was set aside if the new journal begins with all its whole lines; whether it did."""
    try:
        with (aside / journal.name).open("rb") as before, journal.open("rb") as now:
            # A kill may have torn the last line.
            same = all(then == now.readline() for then in before if then.endswith(b"\n"))
    except OSError:
        return False
    if same:
        remove_cell(aside)
        # The folder stays if other cells are in it.
        with suppress(OSError):
            aside.parent.rmdir()
    return same


def _phases(journal: Path) -> list[Phase]:
    phases: list[Phase] = []
    for line in read_journal(journal):
        add_to_phases(phases, line)
        require_few(phases, "phases", journal)
    if not journal.exists():
        raise FileNotFoundError(journal)
    return phases


def _holds_measurement(cell: Cell) -> bool:
    """Whether a cell may have a measurement. An unreadable journal, or Parquet without a journal, may have one."""
    try:
        return bool(measured_s(_phases(cell.journal)))
    except FileNotFoundError:
        return any(cell.folder.glob("series-*.parquet"))
    except UserError:
        return True


def _why_failed(cell: Cell) -> str | None:
    """Why the earlier measurement is not valid: the cell failed while it ran. None if it did not.

    A cell that only could not be resumed (a disk was not mounted) has a summary without phases.
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
    """Whether the rounds in a journal fulfil SNIA's rule. Rounds before and after a seam do not count together."""
    rule = UntilSteady(experiment)
    began_s: float | None = None
    for line in read_journal(journal):
        event = line.get("event")
        if isinstance(event, dict) and event.get("kind") == "seam" and began_s is not None:
            break
        if line.get("phase") not in (WARMUP, MEASURE) or not line.keys() >= _INTERVAL:
            continue
        start_s, end_s = float(line["start_s"]), float(line["time_s"])
        began_s = start_s if began_s is None else began_s
        if rule.over(start_s - began_s, end_s - began_s, line["metrics"].get("workload.throughput") or 0.0):
            return True
    return False
