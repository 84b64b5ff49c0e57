"""What a model's agreement with published figures is worth: errors by standing, beside those of one constant, and
whether it sees what one setting changed.

An error is |ln(ours / published)|: 0.1 is about 10 %, and twice too much counts as much as half of it. Of a range it is
to the nearer end, and 0 within.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from flatwater.results import Contrast, Published, Result
from flatwater.results.agreement import PREDICTED, STANDINGS, Standing

#: A setting that changes figures by less than this changes nothing, because the seed alone changes as much:
#: log-on-array on its SSD has 9,067 to 9,444 NOTPM with three seeds (`--set repeat=3`, cells of 60 s).
NO_DIFFERENCE = 1.04
#: The errors that are counted, as shares.
NEAR = (0.10, 0.15, 0.25)


@dataclass(frozen=True)
class Row:
    """A published figure beside ours. Rows of one `group` have one experiment, metric and unit."""

    experiment: str
    cell: str
    figure: Published

    @property
    def group(self) -> tuple[str, str, str]:
        """What a constant is of."""
        return self.experiment, self.figure.metric, self.figure.unit

    @property
    def error(self) -> float | None:
        """|ln(ours / published)|; None where there is no figure of ours, infinite where ours is 0."""
        return _ln(self.figure.error)


@dataclass(frozen=True)
class Score:
    """How some rows agree. `near` counts those within each error of NEAR."""

    rows: int
    agreeing: int
    near: tuple[int, ...]
    median: float | None
    worst: Row | None


@dataclass(frozen=True)
class Beside:
    """The rows of groups of two rows or more: our score, and that of each group's geometric mean as the only answer."""

    groups: int
    ours: Score
    constant: Score


@dataclass(frozen=True)
class Seen:
    """What some groups say that differ in one setting."""

    groups: int
    #: Pairs of cells whose published figures differ; of these, in the published order, in the other, and equal in ours.
    pairs: int
    right: int
    wrong: int
    #: Groups in which the published figures differ and ours say "no difference".
    blind: int
    #: The median share of the published difference that the model has.
    share: float | None


def score(rows: Sequence[Row]) -> Score:
    """The score of some rows. Where ours has no figure (no dip), the row counts, and has no error."""
    errors = [(error, row) for row in rows if (error := row.error) is not None]
    return Score(
        rows=len(rows),
        agreeing=sum(row.figure.agrees is True for row in rows),
        near=tuple(sum(abs(row.figure.error or 0) <= share for _, row in errors) for share in NEAR),
        median=statistics.median(error for error, _ in errors) if errors else None,
        worst=max(errors, key=lambda one: one[0])[1] if errors else None,
    )


def beside_a_constant(rows: Iterable[Row]) -> Beside:
    """Ours beside a model that knows one number for each group: the geometric mean of the group's published figures.

    It is the best that a model can do which sees no difference. Groups of one row are left out, because their constant
    is the figure itself. Bounds and ranges are no figures that a constant could be the mean of: they are left out too.
    """
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        if not row.figure.at_least and row.figure.up_to is None and row.figure.value > 0:
            groups.setdefault(row.group, []).append(row)
    taken = [group for group in groups.values() if len(group) > 1]
    constant = [_with_ours(row, _geometric_mean(group)) for group in taken for row in group]
    return Beside(len(taken), score([row for group in taken for row in group]), score(constant))


def seen(contrasts: Iterable[Contrast]) -> Seen:
    """What some groups say together."""
    told = list(contrasts)
    right = wrong = pairs = 0
    for one in told:
        for place, theirs in enumerate(one.published):
            for other in range(place):
                if theirs != one.published[other]:
                    pairs += 1
                    product = (theirs - one.published[other]) * (one.ours[place] - one.ours[other])
                    right, wrong = right + (product > 0), wrong + (product < 0)
    shares = [share for one in told if (share := share_of_difference(one)) is not None]
    blind = sum(spread(one.published) >= NO_DIFFERENCE > spread(one.ours) for one in told)
    return Seen(len(told), pairs, right, wrong, blind, statistics.median(shares) if shares else None)


def spread(figures: Sequence[float]) -> float:
    """The highest figure as a multiple of the lowest; infinite if the lowest is 0."""
    low, high = min(figures), max(figures)
    return high / low if low > 0 else math.inf if high > 0 else 1.0


def share_of_difference(one: Contrast) -> float | None:
    """How much of the published difference the model has: 1 is all of it, 0 none, below 0 the other way round.

    It is the slope of a line through ln(ours) against ln(published): of two cells, the ratio of the two logarithms.
    None if the published figures do not differ, or one is 0.
    """
    if min(*one.published, *one.ours) <= 0 or spread(one.published) < NO_DIFFERENCE:
        return None
    theirs, ours = ([math.log(value) for value in side] for side in (one.published, one.ours))
    middle, our_middle = statistics.fmean(theirs), statistics.fmean(ours)
    both = sum((a - middle) * (b - our_middle) for a, b in zip(theirs, ours, strict=True))
    return both / sum((a - middle) ** 2 for a in theirs)


def standing_of(one: Contrast) -> str:
    """The standing of a group: "predicted" if all of its figures are, "fitted or follows" if none is."""
    predicted = [standing == PREDICTED for standing in one.standings if standing]
    return "predicted" if all(predicted) else "partly fitted" if any(predicted) else "fitted or follows"


def rows_of(name: str, result: Result, label: Mapping[int, str]) -> list[Row]:
    """The published figures of a result beside which ours stand, or should."""
    return [
        Row(name, label[cell.index], one)
        for cell in result.cells
        if cell.summary is not None
        for one in ([cell.summary.published] if cell.summary.published else []) + cell.summary.published_others
        if one.ours is not None or one.agrees is not None
    ]


def by_standing(rows: Iterable[Row]) -> dict[Standing, list[Row]]:
    """The rows of each standing that some have, predictions first."""
    told = list(rows)
    return {
        standing: some for standing in STANDINGS if (some := [one for one in told if one.figure.standing == standing])
    }


def _ln(error: float | None) -> float | None:
    if error is None:
        return None
    return abs(math.log1p(error)) if error > -1 else math.inf


def _geometric_mean(rows: Sequence[Row]) -> float:
    return math.exp(statistics.fmean(math.log(row.figure.value) for row in rows))


def _with_ours(row: Row, ours: float) -> Row:
    """The row as if `ours` were the model's figure."""
    error = ours / row.figure.value - 1
    within = row.figure.within
    agrees = None if within is None else abs(error) <= within
    return Row(row.experiment, row.cell, row.figure.model_copy(update={"ours": ours, "error": error, "agrees": agrees}))
