"""Checks that the report, the published figures and the expectations of a file name existing cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from flatwater.experiment.expected import AS_PUBLISHED, Expectation
from flatwater.experiment.experiment import Experiment
from flatwater.experiment.fields import get_value, resolve_cells, resolve_value, why_no_field
from flatwater.experiment.kinds import Kinds
from flatwater.experiment.lookup import cells_text, has_values, positions_of, published_cells
from flatwater.experiment.problem import Problem, quote
from flatwater.experiment.published import IN_SECONDS, IN_THROUGHPUT_UNIT, PublishedFigure
from flatwater.experiment.roles import role_of
from flatwater.results.schema import FieldValues
from flatwater.spelling import nearest

#: In a larger sweep, there is no search for the cell that a ratio refers to.
MAX_SEARCHED_CELLS = 100_000


@dataclass(frozen=True)
class Views:
    """The statements of a file about its cells: each entry by its place in the file's list."""

    figures: dict[int, PublishedFigure]
    expected: dict[int, Expectation]

    @property
    def parts(self) -> dict[str, list[Any]]:
        """The entries as fields of an experiment."""
        return {"published": list(self.figures.values()), "expected": list(self.expected.values())}

    def of_kinds(self, kinds: Kinds) -> Views:
        """The entries that name only fields of these kinds of layers."""
        figures = {place: figure for place, figure in self.figures.items() if _is_known(figure.fields, kinds)}
        expected = {place: one for place, one in self.expected.items() if _is_known(one.fields, kinds)}
        views = Views(figures, expected)
        return views if len(figures) == len(self.figures) else views.without_their_order()

    def without_their_order(self) -> Views:
        """The views without expectations about the order of figures; for when some figures are left out."""
        return Views(self.figures, {place: one for place, one in self.expected.items() if one.order != AS_PUBLISHED})


def _is_known(cells: Iterable[tuple[str, Any]], kinds: Kinds) -> bool:
    """Whether layers of these kinds have all of the fields, and can have the values."""
    try:
        return all(
            why_no_field(field, kinds) is None and [resolve_value(field, value, kinds)] for field, value in cells
        )
    except ValueError:
        return False


def forget_lost_cells(experiment: Experiment) -> Experiment:
    """The experiment without entries that name cells which an override removed."""
    report = experiment.report
    swept = experiment.sweep.fields
    lost: dict[str, object] = {axis: None for axis in ("x", "series") if getattr(report, axis) not in swept}
    if len(report.names) != experiment.sweep.positions:
        lost["names"] = []
    kept = [figure for figure in experiment.published if not any(_all_faults(experiment, figure))]
    # The order of the published figures is the order of those that are left.
    left = experiment.model_copy(update={"report": report.model_copy(update=lost), "published": kept})
    return left.model_copy(
        update={"expected": [one for one in left.expected if not any(expectation_faults(left, one))]}
    )


def _all_faults(experiment: Experiment, figure: PublishedFigure) -> Iterator[tuple[str, str | None]]:
    yield from figure_faults(experiment, figure)
    yield from relative_faults(experiment, figure)
    yield from unit_faults(experiment, figure)


def view_problems(experiment: Experiment, views: Views) -> Iterator[Problem]:
    """Entries that name cells which do not exist, or that cannot be compared with them."""
    yield from _report_problems(experiment)
    # After `forget_lost_cells` the places do not match, but no entry has a fault then.
    for place, figure in zip(views.figures, experiment.published, strict=False):
        for what, hint in figure_faults(experiment, figure):
            yield Problem(f"published.{place}.set", what, hint, tuple(figure.set))
        for what, hint in relative_faults(experiment, figure):
            yield Problem(f"published.{place}.relative_to", what, hint, tuple(figure.relative_to or ()))
        for what, hint in unit_faults(experiment, figure):
            yield Problem(f"published.{place}.unit", what, hint, ("workload.unit",))
    for place, expectation in zip(views.expected, experiment.expected, strict=False):
        for field, what, hint in expectation_faults(experiment, expectation):
            yield Problem(f"expected.{place}.{field}", what, hint, _fields_of(experiment, expectation))


def _report_problems(experiment: Experiment) -> Iterator[Problem]:
    swept = experiment.sweep.fields
    for axis in ("x", "series"):
        field = getattr(experiment.report, axis)
        if field is not None and field not in swept:
            close = nearest(field, swept)
            hint = f"did you mean {close}?" if close else f"swept: {', '.join(swept) or 'nothing'}"
            yield Problem(f"report.{axis}", f"{field} is not swept", hint, (field,))
    if experiment.report.series is not None and experiment.report.series == experiment.report.x:
        yield Problem("report.series", "is the same field as report.x", "take it out", ("report.x",))
    names = experiment.report.names
    if names and len(names) != experiment.sweep.positions:
        what = f"names {len(names)} of {experiment.sweep.positions:,} cells"
        yield Problem("report.names", what, "one for each cell, in the sweep's order", ("sweep",))
    elif len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        yield Problem("report.names", f"two cells are called {quote(twice)}", "a name for each")


def _fields_of(experiment: Experiment, expectation: Expectation) -> tuple[str, ...]:
    """The fields that an expectation depends on: its own, or those of the figures that it orders."""
    fields = [field for field, _ in expectation.fields]
    if expectation.order == AS_PUBLISHED:
        fields += [field for figure in experiment.published for field, _ in figure.fields]
    return tuple(dict.fromkeys(fields))


def figure_faults(experiment: Experiment, figure: PublishedFigure) -> Iterator[tuple[str, str | None]]:
    """Why no cell of the experiment has the values of a figure: what is wrong, and a hint."""
    yield from set_faults(experiment, figure.set)


def set_faults(
    experiment: Experiment,
    set: FieldValues,  # noqa: A002 (the name in the file)
) -> Iterator[tuple[str, str | None]]:
    """Why no cell of the experiment has this `set`: what is wrong, and a hint."""
    kinds = experiment.kinds
    resolved = resolve_cells(set, kinds)
    swept: list[str] = []
    for number, dimension in enumerate(experiment.sweep.dimensions):
        wanted = {field: value for field, value in resolved.items() if field in dimension}
        swept.extend(wanted)
        if wanted and not experiment.sweep.matcher(kinds).steps(number, wanted):
            text = ", ".join(f"{field} = {set[field]}" for field in wanted)
            choices = ", ".join(str(value) for field in wanted for value in dimension[field][:8])
            if len(wanted) == 1:
                yield f"matches no cell: {text} is not swept", f"swept: {choices}"
            else:
                yield f"matches no cell: {text} do not stand together in sweep.zip", None
    for field, value in resolved.items():
        if field not in swept and get_value(experiment, field) != value:
            stands = get_value(experiment, field)
            text = f"{field} is not set" if stands is None else f"{field} is {stands}, not {set[field]}"
            yield f"matches no cell: {text}", f"sweep {field}, or take it out of the set"


def relative_faults(experiment: Experiment, figure: PublishedFigure) -> Iterator[tuple[str, str | None]]:
    """Why `relative_to` of a ratio does not name exactly one other cell."""
    # An experiment of one cell keeps its figures, although the other cell is not in it.
    if figure.relative_to is None or not experiment.sweep.dimensions:
        return
    faults = list(one_cell_faults(experiment, figure.relative_to, "a ratio is to one"))
    yield from faults
    if not faults and has_values(
        experiment,
        experiment.sweep.values_at(positions_of(experiment, figure.relative_to)[0]),
        figure.resolved(experiment.kinds),
    ):
        text = cells_text(figure.relative_to)
        yield f"{text} is the very cell that the figure stands beside", "narrow `set`, or name another cell"
    if not faults and figure.metric in IN_THROUGHPUT_UNIT:
        places = [*positions_of(experiment, figure.relative_to), *positions_of(experiment, figure.set)]
        yield from direction_faults(experiment, places)


def direction_faults(experiment: Experiment, places: Iterable[int]) -> Iterator[tuple[str, str | None]]:
    """Why figures of these cells cannot be compared with each other: they count different things."""
    for field in experiment.sweep.fields:
        if role_of(field) != "direction":
            continue
        found = list(dict.fromkeys(str(experiment.sweep.values_at(place)[field]) for place in places))
        if len(found) > 1:
            yield f"is of cells in {' and '.join(found)}, which cannot be compared", f"narrow it to one {field}"


def one_cell_faults(experiment: Experiment, cells: FieldValues, why: str) -> Iterator[tuple[str, str | None]]:
    """Why these values name no cell, or several. `why` says what needs exactly one."""
    sweep = experiment.sweep
    if sweep.positions > MAX_SEARCHED_CELLS:
        yield f"of so many cells ({sweep.positions:,}) none is looked for", "split the experiment"
        return
    found, text = positions_of(experiment, cells), cells_text(cells)
    if not found:
        yield f"matches no cell: {text}", f"swept: {', '.join(sweep.fields) or 'nothing'}"
    elif len(found) > 1:
        yield f"{text} matches {len(found)} cells, and {why}", "say more of that cell"


def unit_faults(experiment: Experiment, figure: PublishedFigure) -> Iterator[tuple[str, str | None]]:
    """A throughput in another unit than the experiment's cannot be compared."""
    if figure.relative_to is not None:
        return
    unit = get_value(experiment, "workload.unit")
    if figure.metric in IN_THROUGHPUT_UNIT and figure.unit != unit:
        units = " or ".join(f'"{choice}"' for choice in experiment.workload.units())
        yield f"{figure.unit} cannot be compared with the experiment's {unit}", f"workload.unit = {units}"
    if figure.metric in IN_SECONDS and figure.unit != "s":
        yield f"times are in s here, not {figure.unit}", "convert the value to s"
    if figure.metric.startswith("latency_us.") and figure.unit != "us":
        yield f"latencies are in us here, not {figure.unit}", "convert the value to us"


def expectation_faults(experiment: Experiment, expectation: Expectation) -> Iterator[tuple[str, str, str | None]]:
    """Why an expectation does not fit the cells of the experiment: which of its fields, what is wrong, a hint."""
    faults = list(set_faults(experiment, expectation.set))
    yield from (("set", what, hint) for what, hint in faults)
    if faults:
        return
    if expectation.metric in IN_THROUGHPUT_UNIT and experiment.sweep.positions <= MAX_SEARCHED_CELLS:
        field = "order" if expectation.order is not None else "optimum"
        for what, hint in direction_faults(experiment, _ranked(experiment, expectation)):
            yield field, what, hint
    if isinstance(expectation.order, list):
        for cells in expectation.order:
            for what, hint in one_cell_faults(experiment, expectation.set | cells, "an order is of single cells"):
                yield "order", what, hint
        named = Counter(
            place for cells in expectation.order for place in positions_of(experiment, expectation.set | cells)
        )
        if any(times > 1 for times in named.values()):
            yield "order", "a cell stands in it twice", "name each cell once"
    elif expectation.order == AS_PUBLISHED and len(published_cells(experiment, expectation)) < 2:
        hint = "an order takes two cells or more with [[published]] figures"
        yield "order", f"fewer than two cells have a published {expectation.metric}", hint
    elif expectation.optimum is not None:
        if expectation.axis not in experiment.sweep.fields:
            yield (
                "optimum",
                f"{expectation.axis} is not swept",
                f"swept: {', '.join(experiment.sweep.fields) or 'nothing'}",
            )
            return
        places = positions_of(experiment, expectation.set)
        swept = list(dict.fromkeys(str(experiment.sweep.values_at(place)[expectation.axis]) for place in places))
        if len(places) < 2:
            yield "optimum", "is of two cells or more, and `set` leaves one", "widen `set`"
        for value in expectation.optimum[expectation.axis]:
            if not positions_of(experiment, expectation.set | {expectation.axis: value}):
                text = cells_text({expectation.axis: value})
                yield "optimum", f"matches no cell: {text}", f"swept: {', '.join(swept)}"


def _ranked(experiment: Experiment, expectation: Expectation) -> list[int]:
    """The positions of the cells whose figures an expectation compares."""
    if isinstance(expectation.order, list):
        return [place for cells in expectation.order for place in positions_of(experiment, expectation.set | cells)]
    return positions_of(experiment, expectation.set) if expectation.verdict is None else []
