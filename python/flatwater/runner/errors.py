"""What a run of the user's own statements has to tell besides its figures.

Errors are counted by their numbers, and too many of them fail the run. A replay tells how far it was from its log.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from flatwater.errors import FlatwaterError, UserError
from flatwater.experiment import Experiment, OwnStatements, QueryLog, Timing
from flatwater.experiment.placing import FIELD
from flatwater.printing import counted
from flatwater.results.schema import CellSummary
from flatwater.runner.tally import ERROR_PREFIX

#: So many numbers are named; the others are only counted.
NAMED_MAX = 5
_HINT = "workload.errors_max_pct is the limit"
#: What the engine says of a field of the workload, and a hint of its own.
_OF_FIELD = re.compile(r"(workload(?:\.\w+)+: .*?)(?: \(hint: (.*)\))?", re.DOTALL)
#: Tables and rows that a statement needs are made before it.
_MEND = "mend this statement, or what is set up before it"


def placed_error(error: Exception, experiment: Experiment) -> Exception:
    """An error with its place in the file of the experiment, where it is of a field.

    What is wrong with a field of the workload is the user's to mend, whoever found it.
    """
    if isinstance(error, FlatwaterError) and error.where is not None:
        if not re.fullmatch(FIELD, error.where):
            return error
        what, hint = f"{error.where}: {error.what}", error.hint
        if not isinstance(error, UserError) and not what.startswith("workload."):
            return FlatwaterError(experiment.placed(what), hint=hint)
    elif (said := _OF_FIELD.fullmatch(error.what if isinstance(error, FlatwaterError) else str(error))) is not None:
        own_hint = error.hint if isinstance(error, FlatwaterError) else None
        what, hint = said[1], said[2] or own_hint or _MEND
    else:
        return error
    return UserError(experiment.placed(what), hint=hint)


@contextmanager
def placing_errors(experiment: Experiment) -> Iterator[None]:
    """Errors of the user's meanwhile have their places in the file of the experiment."""
    try:
        yield
    except UserError as error:
        raise placed_error(error, experiment) from None


def judge_errors(summary: CellSummary, workload: Timing) -> None:
    """Adds a warning if transactions failed. If more failed than the workload allows, the cell has failed."""
    if isinstance(workload, QueryLog):
        summary.warnings += _replay_warnings(summary)
    if not isinstance(workload, OwnStatements) or not summary.errors:
        return
    what = "statement" if isinstance(workload, QueryLog) else "transaction"
    share_pct = 100 * summary.errors / (summary.errors + (summary.operations or 0))
    told = f"{counted(summary.errors, what)} failed ({_percent(share_pct)} of all): {_by_number(summary.counters)}"
    first = next((event.text for event in summary.events if event.kind == "fault"), None)
    if first is not None:
        told += f"; the first: {first}"
    if share_pct > workload.errors_max_pct and summary.status == "complete":
        summary.status, summary.error = "failed", f"{told} (hint: {_HINT}, {workload.errors_max_pct:g})"
    else:
        summary.warnings.append(told)


def _replay_warnings(summary: CellSummary) -> list[str]:
    """What the replay did not do as the log says."""
    found = []
    names = ("late", "lag_ms", "writes_skipped", "mixed")
    late, lag_ms, skipped, mixed = (summary.counters.get(name, 0) for name in names)
    if late:
        share_pct = 100 * late / max(1, late, (summary.operations or 0) + summary.errors)
        found.append(
            f"{counted(late, 'statement')} ({_percent(share_pct)}) began late, "
            f"by {lag_ms / late / 1000:.3g} s on average: the sessions did not keep up with the log"
        )
    if skipped:
        verbs, them = ("may write and was", "it") if skipped == 1 else ("may write and were", "them")
        found.append(f"{counted(skipped, 'statement')} {verbs} left out (workload.allow_writes replays {them})")
    if mixed:
        found.append(
            f"{counted(mixed, 'statement')} ran on a session that another recorded connection was using: "
            "their transactions mix (more workload.connections keep them apart)"
        )
    return found


def _percent(share_pct: float) -> str:
    return "less than 0.01 %" if share_pct < 0.01 else f"{share_pct:.3g} %"


def _by_number(counters: dict[str, int]) -> str:
    found = {
        name.removeprefix(ERROR_PREFIX): count
        for name, count in counters.items()
        if name.startswith(ERROR_PREFIX) and count
    }
    numbers = sorted(found, key=lambda number: (-found[number], number))
    named = [f"error {number} {_times(found[number])}" for number in numbers[:NAMED_MAX]]
    others = sum(found[number] for number in numbers[NAMED_MAX:])
    return ", ".join([*named, *([f"others {_times(others)}"] if others else [])])


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"
