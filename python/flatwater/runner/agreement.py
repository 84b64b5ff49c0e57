"""The agreement of a result with published figures, and with the shape that the experiment expects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from flatwater.analysis.figures import lookup_figure
from flatwater.analysis.rank import kendall_tau
from flatwater.experiment import Expectation, Experiment
from flatwater.experiment.expected import AS_PUBLISHED, agrees_with
from flatwater.experiment.lookup import cells_text, positions_of, published_cells
from flatwater.results import Agreement, Cell, CellSummary, Finding, Result
from flatwater.results.agreement import Count
from flatwater.results.schema import FieldValues
from flatwater.runner.contrasts import find_contrasts

#: The errors that the last columns of the table count.
_NEAR = {"within_10_pct": 0.10, "within_15_pct": 0.15, "within_25_pct": 0.25}
#: An order of more cells than this gives only their number.
_NAMED_MAX = 6


def judge_agreement(experiment: Experiment, result: Result) -> Agreement | None:
    """The agreement of the complete cells, in figures and shape; None if nothing was published."""
    if not experiment.published and not experiment.expected:
        return None
    cells = _Cells(experiment, result)
    found = Agreement(findings=[one for wanted in experiment.expected for one in _findings(cells, wanted)])
    for summary in cells.summaries():
        for one in ([summary.published] if summary.published else []) + summary.published_others:
            if one.ours is None and one.agrees is None:
                continue
            found.figures += 1
            found.agreeing += one.agrees is True
            count = found.standings.setdefault(one.standing, Count())
            count.figures += 1
            count.agreeing += one.agrees is True
            for name, share in _NEAR.items():
                near = one.error is not None and abs(one.error) <= share
                setattr(found, name, getattr(found, name) + near)
    found.tau = _tau_of_throughputs(cells)
    found.contrasts = find_contrasts(experiment, cells.figure)
    return found


class _Cells:
    """The complete cells of a result by their positions in the sweep; repeats count as their mean."""

    def __init__(self, experiment: Experiment, result: Result) -> None:
        self.experiment = experiment
        self._by_position: dict[int, list[tuple[int, CellSummary]]] = {}
        for cell in result.cells:
            summary = complete_summary(cell)
            if summary is not None:
                position = cell.index % experiment.sweep.positions
                self._by_position.setdefault(position, []).append((cell.index, summary))

    def summaries(self) -> list[CellSummary]:
        """The summaries of all complete cells."""
        return [summary for at in self._by_position.values() for _, summary in at]

    def at(self, position: int) -> list[CellSummary]:
        """The repeats at a position."""
        return [summary for _, summary in self._by_position.get(position, [])]

    def figure(self, position: int, metric: str) -> float | None:
        """The mean of a figure over the repeats; None if no repeat has it."""
        values = [value for summary in self.at(position) if (value := lookup_figure(summary, metric)) is not None]
        return sum(values) / len(values) if values else None

    def label(self, position: int, fields: FieldValues | None = None) -> str:
        """The label of a position: its name, the fields that name it, or its swept values."""
        names = self.experiment.report.names
        return names[position] if names else _words(fields or self.experiment.sweep.values_at(position))


def complete_summary(cell: Cell) -> CellSummary | None:
    """The summary of a complete cell. Its folder has it until the whole result is sealed."""
    if (cell.folder / "summary.json").is_file():
        stored = cell.stored_summary()
        return stored if stored.status == "complete" else None
    return cell.summary if cell.summary is not None and cell.summary.status == "complete" else None


def _findings(cells: _Cells, wanted: Expectation) -> Iterator[Finding]:
    places = positions_of(cells.experiment, wanted.set)
    if wanted.verdict is not None:
        yield from (_verdict(cells, wanted, place) for place in places)
    elif wanted.order is not None:
        yield _order(cells, wanted)
    else:
        yield _optimum(cells, wanted, places)


def _verdict(cells: _Cells, wanted: Expectation, place: int) -> Finding:
    words = wanted.verdict or []
    # Each repeat has a verdict.
    verdicts = [summary.verdict for summary in cells.at(place)]
    judged = [verdict for verdict in verdicts if verdict is not None]
    return Finding(
        kind="verdict",
        cells=[place],
        about=cells.label(place),
        published=" or ".join(words),
        ours=", ".join(verdict or "not judged" for verdict in verdicts),
        agrees=all(agrees_with(words, word) for word in judged) if judged else None,
        standing=wanted.standing,
        by=wanted.by,
        missed=wanted.missed,
        source=wanted.source,
    )


def _order(cells: _Cells, wanted: Expectation) -> Finding:
    if isinstance(wanted.order, list):
        named = [(positions_of(cells.experiment, wanted.set | one)[0], one) for one in wanted.order]
        # Only the order of the figures counts, so ranks replace them.
        theirs = {place: float(-rank) for rank, (place, _) in enumerate(named)}
        labels = {place: cells.label(place, one) for place, one in named}
    else:
        theirs = published_cells(cells.experiment, wanted)
        labels = {place: cells.label(place) for place in theirs}
    ours = {place: cells.figure(place, wanted.metric) for place in theirs}
    have = {place: value for place, value in ours.items() if value is not None}
    whole = len(have) == len(theirs)
    tau = kendall_tau([[(theirs[place], value) for place, value in have.items()]]) if whole else None

    def ranking(values: Mapping[int, float]) -> str:
        ranked = sorted(values, key=lambda place: values[place], reverse=True)
        if len(ranked) > _NAMED_MAX or wanted.order == AS_PUBLISHED:
            return f"{len(ranked)} cells in the order of their figures"
        return " > ".join(labels[place] for place in ranked)

    many = len(theirs) > _NAMED_MAX or wanted.order == AS_PUBLISHED
    return Finding(
        kind="order",
        cells=sorted(theirs),
        metric=wanted.metric,
        about=_words(wanted.set),
        published=ranking(theirs),
        ours="" if tau is None else f"tau {tau:.2f}" if many else ranking(have),
        agrees=None if tau is None else tau >= wanted.tau - 1e-9,
        tau=tau,
        standing=wanted.standing,
        by=wanted.by,
        missed=wanted.missed,
        source=wanted.source,
    )


def _optimum(cells: _Cells, wanted: Expectation, places: list[int]) -> Finding:
    axis, sweep = wanted.axis, cells.experiment.sweep
    figures = {place: cells.figure(place, wanted.metric) for place in places}
    have = {place: value for place, value in figures.items() if value is not None}
    finding = Finding(
        kind="optimum",
        cells=places,
        metric=wanted.metric,
        about=_words(wanted.set),
        published=_words({axis: " or ".join(str(value) for value in (wanted.optimum or {})[axis])}),
        ours="",
        standing=wanted.standing,
        by=wanted.by,
        missed=wanted.missed,
        source=wanted.source,
    )
    if len(have) < len(places):
        return finding
    best = (min if wanted.least else max)(have.values())
    at = {place: sweep.values_at(place)[axis] for place in have}
    # If several cells are equally good, the published one counts.
    winner = max((place for place, value in have.items() if value == best), key=lambda place: wanted.is_best(at[place]))
    slack = abs(best) * wanted.within
    finding.ours = _words({axis: at[winner]})
    finding.agrees = any(abs(value - best) <= slack and wanted.is_best(at[place]) for place, value in have.items())
    return finding


def _tau_of_throughputs(cells: _Cells) -> float | None:
    """Kendall's tau over the first published throughput of each cell. Ratios to one cell form a group of their own."""
    groups: dict[str, list[tuple[float, float]]] = {}
    for summary in cells.summaries():
        one = summary.published
        if one is None or one.metric != "mean" or one.ours is None or one.at_least:
            continue
        theirs = one.value if one.up_to is None else (one.value + one.up_to) / 2
        groups.setdefault(cells_text(one.relative_to or {}), []).append((theirs, one.ours))
    return kendall_tau(groups.values())


def _words(values: FieldValues) -> str:
    """Fields and values in a few words."""
    return ", ".join(f"{field.rpartition('.')[2].replace('_', ' ')} {_word(value)}" for field, value in values.items())


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
