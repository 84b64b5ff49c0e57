"""Results side by side: is B faster than A, by how much, and how certain is that?

Cells are matched by their swept values. The ratio of two means gets a 95 % confidence interval by the delta method:
(se(R)/R)^2 = (se(A)/A)^2 + (se(B)/B)^2, with Student's t at the Welch-Satterthwaite degrees of freedom. Each standard
error accounts for autocorrelation within a run (`autocorrelation`). If both sides were repeated, the spread between
repeats gives a second interval, and the wider of the two is reported. A single run does not show what changes from one
run to the next (the place of the file, the history of the card); repeats do.

Before any ratio, `alike` checks whether the two results measured the same thing. If workload, data size or the
direction of the figure differs, or is not known to be equal, there is no ratio unless the caller requests it with
`anyway`.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from flatwater.analysis.alike import Difference, cell_differences, differences
from flatwater.analysis.autocorrelation import CONFIDENCE, Estimate, estimate_mean, student_quantile
from flatwater.experiment.units import parse_size, print_size
from flatwater.results import Cell, Result
from flatwater.results.schema import FieldValues

#: Degrees of freedom of an estimate that was read from a summary alone: its interval already contains Student's factor.
SUMMARY_FREEDOM = 1e9
#: Warnings in a cell's summary that make its comparison doubtful: the machine was saturated or noisy.
NOISY = re.compile(r"saturat|steal|other processes|waited for", re.IGNORECASE)
SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:([kmgt])(i?b)?|b)?", re.IGNORECASE)


@dataclass(frozen=True)
class Side:
    """One result's view of a matched cell. Throughput in the cell's unit; `ci95` and `p95_us` None when unknown."""

    mean: float | None
    ci95: float | None
    p95_us: float | None
    flatness: float | None
    verdict: str | None
    repeats: int


#: no: workload, data size or direction differ; unknown: one side does not know some of them.
Comparable = Literal["yes", "no", "unknown"]


@dataclass(frozen=True)
class Row:
    """A matched cell of one result against the baseline; `low`..`high` is the ratio's 95 % confidence interval.

    If the two are not `comparable`, `not_comparable` names the fields. The ratio, its interval and `difference` are
    then None, unless the comparison was made `anyway`.
    """

    set: FieldValues
    label: str
    unit: str
    name: str
    baseline: Side
    other: Side
    ratio: float | None
    low: float | None
    high: float | None
    difference: bool | None
    text: str
    comparable: Comparable = "yes"
    not_comparable: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Comparison:
    """Every result except the first, compared with the first.

    `differences`: for each of `others`, every field that differs, besides the swept fields.
    """

    baseline: str
    others: list[str]
    differences: dict[str, list[Difference]]
    rows: list[Row]
    warnings: list[str]


def compare(results: list[Result], *, anyway: bool = False) -> Comparison:
    """Compares results cell by cell; the first is the baseline. Needs at least two.

    `anyway`: also gives ratios of results that are not comparable.
    """
    baseline, others = results[0], results[1:]
    names = unique_names(results)
    rows: list[Row] = []
    warnings: list[str] = []
    told: dict[str, list[Difference]] = {}
    ours = cells_by_set(baseline)
    for other, name in zip(others, names[1:], strict=True):
        theirs = cells_by_set(other)
        whole = differences(baseline, other)
        shared = [key for key in ours if key in theirs]
        for missing, where in ((ours.keys() - theirs.keys(), name), (theirs.keys() - ours.keys(), names[0])):
            if missing:
                count = "1 cell has" if len(missing) == 1 else f"{len(missing)} cells have"
                warnings.append(f"{count} no partner in {where}: compared are the cells of both")
        found = list(whole)
        for key in shared:
            own = cell_differences(ours[key][0], theirs[key][0])
            # The cells of one result differ from each other only in the swept fields, so all rows have the same
            # differences.
            found += [one for one in own if one not in found]
            row = _row(ours[key], theirs[key], names[0], name)
            rows.append(_judged(row, [one for one in (*whole, *own) if one.decisive], anyway=anyway))
        told[name] = sorted(found, key=lambda one: not one.decisive)
    return Comparison(names[0], names[1:], told, rows, warnings)


def _judged(row: Row, decisive: list[Difference], *, anyway: bool) -> Row:
    """The row without its ratio if the two runs measured different things."""
    if not decisive:
        return row
    differ = [one for one in decisive if not one.unknown_in]
    comparable: Comparable = "no" if differ else "unknown"
    fields = [one.field for one in decisive]
    if anyway:
        why = (
            "although they answer different questions" if differ else "although it is not known to be the same question"
        )
        text = f"{row.text} {why}" if row.ratio is not None else row.text
        return dataclasses.replace(row, text=text, comparable=comparable, not_comparable=fields)
    unknown = [one.field for one in decisive if one.unknown_in]
    parts = [f"they differ in {', '.join(one.text for one in differ)}"] if differ else []
    parts += [f"unknown: {', '.join(unknown)}"] if unknown else []
    return dataclasses.replace(
        row,
        ratio=None,
        low=None,
        high=None,
        difference=None,
        text=f"not comparable: {'; '.join(parts)} (--anyway compares them)",
        comparable=comparable,
        not_comparable=fields,
    )


def unique_names(results: list[Result]) -> list[str]:
    """Folder names, with a number where they repeat."""
    names: list[str] = []
    for result in results:
        base = result.path.resolve().name or result.name
        name, number = base, 2
        while name in names:
            name, number = f"{base} ({number})", number + 1
        names.append(name)
    return names


def nothing_shared(results: list[Result]) -> str:
    """Why the results share no cell: the fields that each sweeps, or the name of a result that has not finished."""
    names = unique_names(results)
    unfinished = [name for name, result in zip(names, results, strict=True) if not cells_by_set(result)]
    if unfinished:
        return f"no cell of {' and '.join(unfinished)} has finished with a mean"
    swept = [sorted({field for cell in result.cells for field in cell.set}) for result in results]
    told = [f"{name} sweeps {', '.join(fields) or 'nothing'}" for name, fields in zip(names, swept, strict=True)]
    why = ", at other values" if all(fields == swept[0] for fields in swept) else ""
    return f"no cell of one is in the other: {', '.join(told)}{why}"


def ratio_interval(baseline: Estimate, other: Estimate) -> tuple[float, float, float]:
    """(ratio, low, high) of other / baseline by the delta method; both means must be above zero."""
    ratio = other.mean / baseline.mean
    parts = [(estimate.error / estimate.mean) ** 2 for estimate in (baseline, other)]
    variance = sum(parts)
    if variance == 0:
        return ratio, ratio, ratio
    freedom = variance**2 / sum(
        part**2 / estimate.freedom for part, estimate in zip(parts, (baseline, other), strict=True)
    )
    half = student_quantile(0.5 + CONFIDENCE / 2, freedom) * math.sqrt(variance) * ratio
    return ratio, max(ratio - half, 0.0), ratio + half


def cell_estimate(cell: Cell) -> Estimate | None:
    """The mean throughput of a cell's measured phase with its error; from the summary if no series was kept."""
    values = cell.measured("workload", "throughput").value
    values = values[np.isfinite(values)]
    if len(values) > 1:
        return estimate_mean(values)
    summary = cell.summary
    if summary is None or summary.mean is None or summary.mean_ci95 is None:
        return None
    factor = student_quantile(0.5 + CONFIDENCE / 2, SUMMARY_FREEDOM)
    return Estimate(summary.mean, summary.mean_ci95 / factor, SUMMARY_FREEDOM)


def set_key(values: FieldValues) -> str:
    """A text that is the same for the same swept values, however they are written."""
    return json.dumps({name: _plain(value) for name, value in values.items()}, sort_keys=True, default=str)


def cells_by_set(result: Result) -> dict[str, list[Cell]]:
    """The cells that have a mean, repeats together, by `set_key`."""
    groups: dict[str, list[Cell]] = {}
    for cell in result.cells:
        if cell.summary is not None and cell.summary.mean is not None:
            groups.setdefault(set_key(cell.set), []).append(cell)
    return groups


def _plain(value: Any) -> Any:
    """A swept value in a form in which "16k", "16KiB" and 16384 are equal, and so are 1 and 1.0."""
    if isinstance(value, str) and (match := SIZE.fullmatch(value.strip())):
        # A bare letter is binary, as in MySQL's option files; KB, MB, ... are decimal.
        base = 1000.0 if (match[3] or "").lower() == "b" else 1024.0
        return float(match[1]) * base ** " kmgt".index((match[2] or " ").lower())
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _row(ours: list[Cell], theirs: list[Cell], our_name: str, name: str) -> Row:
    baseline, other = _side(ours), _side(theirs)
    units = {cell.summary.unit for cell in ours + theirs if cell.summary}
    unit = " / ".join(sorted(units))
    ratio, low, high = None, None, None
    if not baseline.mean or other.mean is None:
        text = "not comparable: one of them did nothing"
    else:
        ratio = other.mean / baseline.mean
        low, high = _interval(ours, theirs)
        if low is None or high is None:
            text = f"{name} is {ratio:.3g}x of {our_name} (too few samples for a confidence interval)"
        else:
            # Enough decimals to distinguish the ends of the interval, and at least two.
            digits = min(max(2, -math.floor(math.log10(max(high - low, 1e-6)))), 6)
            margin = f"95 % CI {low:.{digits}f}-{high:.{digits}f}"
            if low <= 1 <= high:
                text = f"no difference shown between {our_name} and {name} ({margin})"
            else:
                text = f"{name} is {ratio:.{digits}f}x of {our_name} ({margin})"
    return Row(
        set=ours[0].set,
        label=_label(ours[0]),
        unit=unit,
        name=name,
        baseline=baseline,
        other=other,
        ratio=ratio,
        low=low,
        high=high,
        difference=None if low is None or high is None else not low <= 1 <= high,
        text=text,
        warnings=_row_warnings(ours, our_name) + _row_warnings(theirs, name),
    )


def _label(cell: Cell) -> str:
    return ", ".join(f"{name.split('.')[-1]} {_shown(name, value)}" for name, value in cell.set.items()) or "all"


def _shown(name: str, value: Any) -> str:
    """A swept value; a size in a binary unit, however the file spells it."""
    if name.endswith("size"):
        try:
            return print_size(parse_size(value))
        except ValueError:
            pass  # a mixture of sizes
    return str(value)


def _side(cells: list[Cell]) -> Side:
    summaries = [cell.summary for cell in cells if cell.summary is not None]
    estimate = pooled_estimate(cells)
    return Side(
        mean=_mean([summary.mean for summary in summaries]),
        ci95=estimate.ci95 if estimate else None,
        p95_us=_mean([_p95_us(cell) for cell in cells]),
        flatness=_mean([summary.flatness for summary in summaries]),
        verdict=" / ".join(sorted({summary.verdict for summary in summaries if summary.verdict})) or None,
        repeats=len(cells),
    )


def _p95_us(cell: Cell) -> float | None:
    if cell.summary is not None and cell.summary.latency_us is not None:
        return cell.summary.latency_us.p95
    # An imported result may have only a percentile for each interval: their median is used for the run.
    values = cell.measured("workload", "latency_p95_us").value
    return float(np.median(values)) if len(values) else None


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def pooled_estimate(cells: list[Cell]) -> Estimate | None:
    """The mean of the repeats, with the error of the runs themselves."""
    estimates = [estimate for cell in cells if (estimate := cell_estimate(cell)) is not None]
    if len(estimates) < len(cells):
        return None
    squares = [estimate.error**2 for estimate in estimates]
    total = sum(squares)
    freedom = (
        total**2 / sum(square**2 / estimate.freedom for square, estimate in zip(squares, estimates, strict=True))
        if total
        else SUMMARY_FREEDOM
    )
    return Estimate(
        sum(estimate.mean for estimate in estimates) / len(estimates), math.sqrt(total) / len(estimates), freedom
    )


def _between(cells: list[Cell]) -> Estimate | None:
    """The mean of the repeats, with the error that follows from their spread (Welch)."""
    means = np.array([cell.summary.mean for cell in cells if cell.summary is not None], dtype=np.float64)
    if len(means) < 2:
        return None
    return Estimate(float(means.mean()), float(means.std(ddof=1)) / math.sqrt(len(means)), len(means) - 1.0)


def _interval(ours: list[Cell], theirs: list[Cell]) -> tuple[float | None, float | None]:
    intervals = [
        ratio_interval(a, b)[1:]
        for a, b in ((pooled_estimate(ours), pooled_estimate(theirs)), (_between(ours), _between(theirs)))
        if a is not None and b is not None and a.mean > 0 and b.mean > 0
    ]
    if not intervals:
        return None, None
    return max(intervals, key=lambda interval: interval[1] - interval[0])


def _row_warnings(cells: list[Cell], name: str) -> list[str]:
    found = []
    summaries = [cell.summary for cell in cells if cell.summary is not None]
    if any(summary.steady is False for summary in summaries):
        found.append(f"{name} never became steady: its mean depends on how long it ran")
    noisy = next((text for summary in summaries for text in summary.warnings if NOISY.search(text)), None)
    if noisy:
        found.append(f"{name}: {noisy}")
    return found
