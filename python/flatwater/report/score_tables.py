"""The head of the page of published figures: what the agreement proves, in tables."""

from __future__ import annotations

import math
from collections.abc import Sequence

from flatwater.report.markdown import table_text
from flatwater.report.scores import (
    NEAR,
    NO_DIFFERENCE,
    Row,
    Score,
    beside_a_constant,
    by_standing,
    score,
    seen,
    share_of_difference,
    spread,
    standing_of,
)
from flatwater.report.tables import metric_words
from flatwater.report.units import number, percent
from flatwater.results import Contrast, Finding
from flatwater.results.agreement import STANDINGS

_SCORES = (
    "standing",
    "figures",
    "agree",
    *(f"within {share:.0%}".replace("%", " %") for share in NEAR),
    "median error",
    "worst",
)
_CONSTANTS = (
    "standing",
    "groups",
    "figures",
    "ours agree",
    "a constant's agree",
    "median error of ours",
    "of a constant",
)
_SEEN = (
    "standing",
    "groups",
    "pairs",
    "in the published order",
    "in the other order",
    "groups without a difference in ours",
    "share of the published difference",
)
_CONTRASTS = (
    "experiment",
    "setting",
    "figure",
    "standing",
    "published spread",
    "ours",
    "share",
    "tau",
    "by chance",
)
_SCORES_TOLD = """\
The error is |ln(ours / published)|: 0.10 is about 10 %, and half as much counts like twice as much. *Agree*: within
what the experiment's file allows."""
_CONSTANTS_TOLD = """\
**Beside one constant.** Figures of one experiment, metric and unit are a group. The constant is the geometric mean of
the group's published figures: the best that a model can say which sees no difference between the rows. Bounds, ranges
and groups of one figure are left out."""
_SEEN_TOLD = f"""\
**Where one setting differs.** Cells with a published figure that differ in one setting only are a group. *Share of the
published difference*: 100 % is the published effect, 0 % none, less than 0 % the other way round (the median of the
groups). *Partly fitted*: some cells of the group are fitted or follow. Ours have no difference where they differ by
less than {percent(NO_DIFFERENCE - 1)}, which is what the seed alone changes."""
_CONTRASTS_TOLD = """\
*Spread*: the highest figure as a multiple of the lowest. *tau*: Kendall's, of our figures against the published ones.
*By chance*: the share of all orders of our figures that have at least this tau."""


def score_parts(rows: Sequence[Row], findings: Sequence[Finding]) -> list[str]:
    """Errors by standing, shapes by standing, and the same beside one constant."""
    parts = [table_text(_SCORES, [_score_row(name, score(some)) for name, some in by_standing(rows).items()])]
    parts.append(_SCORES_TOLD)
    if shapes := _shapes(findings):
        parts.append(shapes)
    constants = [
        (name, beside) for name, some in by_standing(rows).items() if (beside := beside_a_constant(some)).groups
    ]
    if constants:
        table = [
            [
                name,
                str(one.groups),
                str(one.ours.rows),
                str(one.ours.agreeing),
                str(one.constant.agreeing),
                _error(one.ours.median),
                _error(one.constant.median),
            ]
            for name, one in constants
        ]
        parts += [_CONSTANTS_TOLD, table_text(_CONSTANTS, table)]
    return parts


def seen_parts(contrasts: Sequence[tuple[str, Contrast]]) -> list[str]:
    """What the groups that differ in one setting say together; nothing if there is none."""
    if not contrasts:
        return []
    rows = []
    for standing in ("predicted", "partly fitted", "fitted or follows"):
        one = seen(contrast for _, contrast in contrasts if standing_of(contrast) == standing)
        if one.groups:
            counts = [one.groups, one.pairs, one.right, one.wrong, one.blind]
            rows.append([standing, *(str(count) for count in counts), _share(one.share)])
    return [_SEEN_TOLD, table_text(_SEEN, rows)]


def contrast_parts(contrasts: Sequence[tuple[str, Contrast]]) -> list[str]:
    """Every group that differs in one setting."""
    if not contrasts:
        return []
    rows = [
        [
            name,
            f"{_setting(one)}: {', '.join(_value(value) for value in one.values)}"
            + (f" ({one.about})" if one.about else ""),
            metric_words(one.metric),
            standing_of(one),
            _spread(one.published),
            _spread(one.ours),
            _share(share_of_difference(one)),
            "" if one.tau is None else f"{one.tau:.2f}",
            _chance(one.chance),
        ]
        for name, one in contrasts
    ]
    return ["## Where one setting differs", _CONTRASTS_TOLD, table_text(_CONTRASTS, rows)]


def _score_row(standing: str, one: Score) -> list[str]:
    counts = [one.rows, one.agreeing, *one.near]
    worst = "" if one.worst is None else f"{_error(one.worst.error)} ({_named(one.worst)})"
    return [standing, *(str(count) for count in counts), _error(one.median), worst]


def _named(row: Row) -> str:
    return f"{row.experiment}: {row.cell}, {metric_words(row.figure.metric)}"


def _shapes(findings: Sequence[Finding]) -> str:
    judged = [one for one in findings if one.agrees is not None]
    told = []
    for standing in STANDINGS:
        some = [one for one in judged if one.standing == standing]
        if some:
            told.append(f"{sum(one.agrees is True for one in some)} of {len(some)} that are {_STATES[standing]}")
    return f"Shapes (flat or jumping, orders, optima) that agree: {'; '.join(told)}." if told else ""


_STATES = {"predicted": "predicted", "follows": "of cells that are fitted, at least in part", "fitted": "fitted"}


def _error(error: float | None) -> str:
    return "" if error is None else "ours is 0" if math.isinf(error) else f"{error:.3f}"


def _share(share: float | None) -> str:
    return "" if share is None else percent(share)


def _chance(chance: float | None) -> str:
    return "" if chance is None else percent(chance) if chance >= 0.001 else "under 0.1 %"


def _spread(figures: Sequence[float]) -> str:
    told = spread(figures)
    if math.isinf(told):
        return f"{number(min(figures))} to {number(max(figures))}"
    return f"{told:.2f} x" + (" (no difference)" if told < NO_DIFFERENCE else "")


def _setting(one: Contrast) -> str:
    return one.setting.rpartition(".")[2].replace("_", " ")


def _value(value: object) -> str:
    if isinstance(value, list):
        return "none" if not value else " and ".join(_value(one) for one in value)
    if isinstance(value, dict):
        return str(value.get("kind", value))
    return str(value).lower() if isinstance(value, bool) else str(value)
