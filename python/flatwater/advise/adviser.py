"""Every rule is asked about a cell, and what they say is ranked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from flatwater.advise.advice import Advice
from flatwater.advise.judged import NotJudged, not_judged
from flatwater.advise.rule import Case, Rule
from flatwater.advise.rules import RULES
from flatwater.analysis.bound import Diagnosis, Evidence, diagnose, experiment_of, read_evidence
from flatwater.errors import UserError
from flatwater.results import Cell, Result

_CONFIDENCE = {"high": 0, "medium": 1, "low": 2}


@dataclass(frozen=True)
class Consultation:
    """A cell, what bounded it, and the advice for it, the most important first. No advice: nothing to change."""

    cell: Cell
    evidence: Evidence
    diagnosis: Diagnosis
    advice: tuple[Advice, ...]
    #: Rules that lack what they look at.
    not_judged: tuple[NotJudged, ...] = ()


def consult(result: Result, index: int | None = None, rules: Iterable[Rule] = RULES) -> Consultation:
    """The advice for a cell of a result: cell `index`, or the only one.

    Errors: UserError if there is no such cell, if there are several and none is named, or if it is not over.
    """
    cell = _cell(result, index)
    evidence = read_evidence(cell, experiment_of(result))
    diagnosis = diagnose(evidence)
    case = Case.of(evidence, diagnosis)
    asked = tuple(rules)
    found = [advice for rule in asked if (advice := rule.advise(case)) is not None]
    lacking = not_judged(evidence, case, asked, {one.rule for one in found})
    return Consultation(cell, evidence, diagnosis, tuple(ranked(found)), lacking)


def ranked(found: Iterable[Advice]) -> list[Advice]:
    """The most important first: what relieves the largest bound, then what is surest. The sort is stable."""
    return sorted(found, key=lambda one: (-round(one.share, 2), _CONFIDENCE[one.confidence]))


def _cell(result: Result, index: int | None) -> Cell:
    done = [cell for cell in result.cells if cell.summary is not None]
    where = str(result.path)
    if not done:
        raise UserError("no cell of it is over: nothing was judged yet", where=where, hint="let the run end")
    if index is None:
        if any(cell.set != done[0].set for cell in done):
            hint = f"--cell NUMBER, {done[0].index} to {done[-1].index}; `flatwater report` shows them"
            raise UserError(f"has {len(done)} cells, and advice is for one", where=where, hint=hint)
        return done[0]
    for cell in done:
        if cell.index == index:
            return cell
    raise UserError(f"has no finished cell {index}", where=where, hint=f"{done[0].index} to {done[-1].index}")
