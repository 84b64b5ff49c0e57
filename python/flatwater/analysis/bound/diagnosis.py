"""What bounded a run: the findings of all bounds, ranked, and the answer that follows from them.

A finding's share is of the sessions' time or of the measured seconds. Both say how much of the run the bound was at
work, so the largest one is the answer. Of equal shares the bound that stands first in the registry is: causes stand
there before what they cause (a log at its limit makes a device busy, and not the other way round).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from flatwater.analysis.bound.evidence import Evidence
from flatwater.analysis.bound.finding import MAIN_MIN, Finding
from flatwater.analysis.bound.words import percent
from flatwater.analysis.verdict import SAMPLES_MIN
from flatwater.results.schema import Bound, BoundFinding

#: How one bound looks at the evidence.
Find = Callable[[Evidence], Finding | None]
#: What the diagnosis is called where no bound is.
NOTHING, NOT_TOLD = "nothing", "not told"
#: What a server waits for until pages are written.
_UNTIL_WRITTEN = ("log limit", "free pages", "dirty limit")
#: From here on a card's collector has more of the time than the writes of the host. A modelled card of which it had
#: 60 % gained 7 % from a log four times as large, and 88 % from half as much capacity again (docs/diagnosis.md).
_COLLECTING_MIN_PCT = 50.0
#: The load asked for was served if it was in all but so many of the intervals: one in twenty is chance.
SERVED_MIN = 0.95


@dataclass(frozen=True)
class Diagnosis:
    """The answer for one cell."""

    #: The name of the bound, `nothing` (the load asked for was served), or `not told`.
    name: str
    #: The bound that is named: None for `not told`.
    main: Finding | None
    #: The others that were at work, the largest first.
    others: tuple[Finding, ...]
    #: Why nothing is told; empty where something is.
    why_not: str = ""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All of them, the largest first."""
        return (*(() if self.main is None else (self.main,)), *self.others)

    @property
    def text(self) -> str:
        """One sentence, without the evidence."""
        if self.main is None:
            return f"Not told what bounded it: {self.why_not}."
        if self.name == NOTHING:
            return "Bound by nothing: the load asked for was served."
        return f"Bound by: {told(self.main)}" + (f", then {told(self.others[0])}" if self.others else "") + "."

    def stored(self) -> Bound:
        """As the summary keeps it."""
        main = self.main
        return Bound(
            name=self.name,
            share=main.share if main is not None else None,
            of=main.of if main is not None else None,
            evidence=list(main.evidence) if main is not None else [],
            others=[
                BoundFinding(name=one.name, share=one.share, of=one.of, evidence=list(one.evidence))
                for one in self.others
            ],
            text=self.text,
        )


def told(finding: Finding) -> str:
    """A finding in a few words."""
    of = "of the sessions' time" if finding.of == "time" else "of the seconds"
    return f"{finding.name} ({percent(finding.share)} {of})"


def decide(evidence: Evidence, bounds: Iterable[Find]) -> Diagnosis:
    """Asks every bound, and ranks what they find."""
    if evidence.samples < SAMPLES_MIN:
        why = f"{evidence.samples} intervals were measured, and a diagnosis takes {SAMPLES_MIN}"
        return Diagnosis(NOT_TOLD, None, (), why)
    rate = evidence.load.ops_per_s or evidence.load.throughput
    if rate is not None and not rate.max > 0:
        # Nothing was asked for, or nothing was answered: neither is a load that was served.
        return Diagnosis(NOT_TOLD, None, (), "no request ended while it was measured")
    found = [finding for find in bounds if (finding := find(evidence)) is not None]
    # The sort is stable: the registry's order decides between equal shares, to the percent in which they are printed.
    ranked = sorted(found, key=lambda one: -round(one.share, 2))
    ranked = _waits_first(_causes_first(ranked, evidence), evidence)
    served = next((one for one in ranked if one.name == "rate asked" and one.share >= SERVED_MIN), None)
    if served is not None:
        # Where time was spent holds nothing back that was served.
        return Diagnosis(NOTHING, served, ())
    if not ranked or ranked[0].share < MAIN_MIN:
        why = "no bound explains a quarter of the run" if ranked else "what was recorded shows no bound"
        return Diagnosis(NOT_TOLD, None, tuple(ranked), why)
    return Diagnosis(ranked[0].name, ranked[0], tuple(ranked[1:]))


def _waits_first(ranked: list[Finding], evidence: Evidence) -> list[Finding]:
    """What sessions wait for stands before the limit of dirty pages, which stops no session: where the device is full
    for no less of the time, and so the server cannot flush faster; and in a model, which knows what each session does.
    """
    limit = next((one for one in ranked if one.name == "dirty limit"), None)
    full = next((one for one in ranked if one.name == "device throughput"), None)
    if limit is None:
        return ranked
    if not evidence.layers.virtual and (full is None or ranked.index(full) > ranked.index(limit)):
        return ranked
    rest = [one for one in ranked if one is not limit]
    waits = (place for place, one in enumerate(rest, 1) if one.of == "time" and one.share >= MAIN_MIN)
    place = max(waits, default=0)
    return [*rest[:place], limit, *rest[place:]] if place > ranked.index(limit) else ranked


def _causes_first(ranked: list[Finding], evidence: Evidence) -> list[Finding]:
    """A collector that keeps writes out for most of the time stands before what waits for pages to be written."""
    device = evidence.device
    collector = next((one for one in ranked if one.name == "garbage collection"), None)
    if collector is None or device is None or device.gc_share_pct is None:
        return ranked
    if device.gc_share_pct.mean < _COLLECTING_MIN_PCT:
        return ranked
    rest = [one for one in ranked if one is not collector]
    place = next((place for place, one in enumerate(rest) if one.name in _UNTIL_WRITTEN), len(rest))
    return [*rest[:place], collector, *rest[place:]] if place < ranked.index(collector) else ranked
