"""Rules that could not be judged, because the run lacks what they look at. Their silence is no advice.

A rule is asked about evidence that notes what is read of it. What is listed is a silent rule that read a figure of one
of the run's gaps, or asked for a bound that cannot be found without such a figure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, TypeVar

from flatwater.advise.rule import Case, Rule
from flatwater.analysis.bound import Evidence, Finding
from flatwater.analysis.bound.device import Device
from flatwater.analysis.bound.evidence import metrics_of
from flatwater.analysis.bound.needs import RICHER, gaps_of_bounds
from flatwater.analysis.verdict import SAMPLES_MIN
from flatwater.results.observation import Gap

T = TypeVar("T")
#: Field of `Evidence` -> the layer of its series.
_LAYERS = {"load": "workload", "machine": "machine", "device": "storage", "database": "database"}
#: What the kernel tells of a real device: its fields in `Device` besides `busy_pct`. The others are a model's.
_OF_A_DEVICE = frozenset(
    {"queue_depth", "read_await_us", "write_await_us", "flush_await_us", "read_ops_per_s", "write_ops_per_s"}
    | {"flush_ops_per_s", "discard_ops_per_s", "read_bytes_per_s", "write_bytes_per_s"}
)
_BUSY = "storage.utilisation_pct"


@dataclass(frozen=True)
class NotJudged:
    """A rule without an answer."""

    rule: str
    #: What it looks at.
    about: str
    #: What is missing, and why, in a line each.
    why: tuple[str, ...]


def not_judged(evidence: Evidence, case: Case, rules: Iterable[Rule], spoke: Collection[str]) -> tuple[NotJudged, ...]:
    """The rules that lack evidence. `spoke` are the names of those that gave advice."""
    silent = [rule for rule in rules if rule.name not in spoke]
    if evidence.samples < SAMPLES_MIN:
        why = (f"{evidence.samples} intervals were measured, and a diagnosis takes {SAMPLES_MIN}",)
        return tuple(NotJudged(rule.name, rule.about, why) for rule in silent)
    if not evidence.gaps:
        return ()
    found = []
    for rule in silent:
        gaps = _gaps_of(rule, evidence, case)
        if gaps:
            found.append(
                NotJudged(rule.name, rule.about, tuple(dict.fromkeys(f"not recorded: {gap.text}" for gap in gaps)))
            )
    return tuple(found)


def _gaps_of(rule: Rule, evidence: Evidence, case: Case) -> list[Gap]:
    read: set[str] = set()
    asked: set[str] = set()
    rule.advise(_NotingCase(_noted(evidence, read), case.diagnosis, case.server, asked))
    direct = [gap for gap in evidence.gaps if any(_is_in(gap, figure) for figure in read - RICHER)]
    return [*direct, *gaps_of_bounds(evidence, asked)]


def _is_in(gap: Gap, figure: str) -> bool:
    return figure in gap.figures or f"{figure.partition('.')[0]}.*" in gap.figures


@dataclass(frozen=True)
class _NotingCase(Case):
    """A case that notes the bounds that are asked for and were not found."""

    asked: set[str]

    def finding(self, *names: str) -> Finding | None:
        found = super().finding(*names)
        if found is None:
            self.asked.update(names)
        return found


def _noted(evidence: Evidence, read: set[str]) -> Evidence:
    """The same evidence, which notes the series that are read of it and are absent."""
    groups = {name: getattr(evidence, name) for name in _LAYERS}
    noting = {
        name: _noting(group, read, _figures(group, layer))
        for (name, layer) in _LAYERS.items()
        if is_dataclass(group := groups[name])
    }
    if evidence.device is None and any(_is_in(gap, _BUSY) for gap in evidence.gaps):
        # What a rule looks at shows on a device of which nothing is known.
        told = {name: figure for name, figure in _figures(Device("file"), "storage").items() if name in _OF_A_DEVICE}
        noting["device"] = _noting(Device("file"), read, {**told, "busy_pct": _BUSY})
    whole = _noting(evidence, read, {})
    whole.__dict__.update(noting)
    return whole


def _figures(group: Any, layer: str) -> dict[str, str]:
    """Absent quantities of a group, with their series."""
    kind: type = type(group)
    series = metrics_of(kind)
    return {
        one.name: f"{layer}.{series[one.name][0]}"
        for one in fields(group)
        if one.name in series and getattr(group, one.name) is None
    }


def _noting(value: T, read: set[str], figures: dict[str, str]) -> T:
    """A copy of a frozen value whose class notes reading. `figures`: what to note, by the field's name."""

    def noted(self: object, name: str) -> Any:
        if name in figures:
            read.add(figures[name])
        return object.__getattribute__(self, name)

    copy: T = object.__new__(type(type(value).__name__, (type(value),), {"__getattribute__": noted}))
    copy.__dict__.update(value.__dict__)
    return copy
