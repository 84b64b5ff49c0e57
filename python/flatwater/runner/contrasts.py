"""Cells with published figures that differ in one setting only: what it changed there, and what it changes here.

Errors of single figures do not tell whether a model sees differences: one constant has small errors, too, where all
published figures are near each other.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from flatwater.analysis.rank import chance_of_tau, kendall_tau
from flatwater.experiment import Experiment
from flatwater.experiment.lookup import positions_of
from flatwater.experiment.published import PublishedFigure
from flatwater.results import Contrast
from flatwater.results.schema import FieldValues

#: Our figure of a position of the sweep, by its metric; None if no complete cell there has it.
Figure = Callable[[int, str], float | None]


@dataclass(frozen=True)
class _Level:
    """A published figure of one cell. `standing` is empty for the reference of ratios, whose value is 1."""

    value: float
    standing: str


#: The published figures of one metric by position, all in one unit or as ratios to one cell.
_Family = dict[int, _Level]


def find_contrasts(experiment: Experiment, figure: Figure) -> list[Contrast]:
    """The groups of two cells or more that differ in one setting only and have figures of one metric, both sides.

    Bounds ("at least") are left out, and ranges that begin where there is no difference ("up to 45 % more"). Another
    range counts with its middle. The cells of a ratio are left out where both have their own figures.
    """
    found: list[Contrast] = []
    plain: dict[str, _Family] = {}
    ratios: dict[tuple[str, int], _Family] = {}
    for one in experiment.published:
        if not one.at_least and not _leaves_it_open(one):
            _take(experiment, one, plain, ratios)
    for metric, family in plain.items():
        ours = {place: figure(place, metric) for place in sorted(family)}
        found += _of_family(experiment, metric, family, ours)
    for (metric, base), family in ratios.items():
        own, reference = plain.get(metric, {}), figure(base, metric)
        rest = {place: level for place, level in family.items() if base not in own or place not in own}
        if rest and reference:
            whole = {base: _Level(1.0, "")} | rest
            figures = {place: figure(place, metric) for place in sorted(whole)}
            ours = {place: value and value / reference for place, value in figures.items()}
            found += _of_family(experiment, metric, whole, ours)
    return found


def _leaves_it_open(one: PublishedFigure) -> bool:
    """Whether a range begins at nothing, or at the figure of the cell that it is a ratio to."""
    return one.up_to is not None and (one.value <= 1 if one.relative_to is not None else one.value == 0)


def _take(
    experiment: Experiment,
    one: PublishedFigure,
    plain: dict[str, _Family],
    ratios: dict[tuple[str, int], _Family],
) -> None:
    level = _Level(one.value if one.up_to is None else (one.value + one.up_to) / 2, one.standing)
    if one.relative_to is None:
        family = plain.setdefault(one.metric, {})
    elif bases := positions_of(experiment, one.relative_to):
        family = ratios.setdefault((one.metric, bases[0]), {})
    else:
        # Of a part of the experiment, which leaves that cell out.
        return
    for place in positions_of(experiment, one.set):
        family.setdefault(place, level)


def _of_family(
    experiment: Experiment, metric: str, family: _Family, figures: Mapping[int, float | None]
) -> Iterator[Contrast]:
    ours = {place: value for place, value in figures.items() if value is not None}
    swept = {place: experiment.sweep.values_at(place) for place in ours}
    seen: set[tuple[int, ...]] = set()
    for setting in experiment.sweep.fields:
        alike: dict[str, list[int]] = {}
        for place, values in swept.items():
            rest = {field: value for field, value in values.items() if field != setting}
            alike.setdefault(json.dumps(rest, sort_keys=True), []).append(place)
        for places in alike.values():
            if len(places) > 1 and tuple(places) not in seen:
                seen.add(tuple(places))
                yield _contrast(setting, metric, swept, family, {place: ours[place] for place in places})


def _contrast(
    setting: str, metric: str, swept: Mapping[int, FieldValues], family: _Family, ours: Mapping[int, float]
) -> Contrast:
    pairs = [(family[place].value, value) for place, value in ours.items()]
    return Contrast(
        setting=setting,
        values=[swept[place][setting] for place in ours],
        cells=list(ours),
        about=_common(setting, swept, ours),
        metric=metric,
        published=[theirs for theirs, _ in pairs],
        ours=[mine for _, mine in pairs],
        standings=[family[place].standing for place in ours],
        tau=kendall_tau([pairs]),
        chance=chance_of_tau(pairs),
    )


def _common(setting: str, swept: Mapping[int, FieldValues], ours: Mapping[int, float]) -> str:
    """What the group has in common that some cell outside it does not have, in a few words."""
    first = swept[next(iter(ours))]
    telling = {
        field: value
        for field, value in first.items()
        if field != setting and any(values[field] != value for values in swept.values())
    }
    return ", ".join(f"{field.rpartition('.')[2].replace('_', ' ')} {_word(value)}" for field, value in telling.items())


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
