"""Trends in words and rows, for a terminal and for a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flatwater.analysis.change_points import LEVEL_MIN
from flatwater.analysis.trend.trends import Line, Shift, Trend

#: More figures without a change are only counted.
LISTED_MAX = 6
#: Smaller p-values are told as smaller than this: the tail of the noise is not known so far out.
_P_LEAST = 1e-4
#: What is looked at unless the user names other figures.
METRICS = ("mean", "latency_us.p99", "client_cpu_us_per_op")
#: The columns of `change_rows`, and those of them that are numbers.
HEADINGS = ("when", "figure", "from -> to", "change, 95 %", "", "p")
NUMBERS = frozenset({2, 3, 5})

#: A change, and the line that it is of.
Changes = Sequence[tuple[Line, Shift]]


def trend_text(trend: Trend) -> str:
    """Which runs these are."""
    span = f"{trend.first_at:%Y-%m-%d} to {trend.last_at:%Y-%m-%d}"
    count = "1 run" if len(trend.runs) == 1 else f"{len(trend.runs)} runs"
    past = ", superseded by later runs" if trend.superseded else ""
    return f"{trend.name} on {trend.machine}: {count}, {span}{past}"


def changes_of(trend: Trend) -> list[tuple[Line, Shift]]:
    """All changes, line by line."""
    return [(line, shift) for line in trend.lines for shift in line.shifts]


def change_rows(changed: Changes) -> Iterator[tuple[str, ...]]:
    """A row for each change, in the order of time."""
    for line, shift in sorted(changed, key=lambda one: one[1].at):
        verdict = {True: "worse", False: "better", None: ""}[shift.worse]
        levels = f"{_number(shift.before)} -> {_number(shift.after)}"
        p = f"< {_P_LEAST:.4f}" if shift.p < _P_LEAST else f"{shift.p:.4f}"
        yield f"{shift.at:%Y-%m-%d}", line_title(line), levels, _change(shift), verdict, p


def _change(shift: Shift) -> str:
    if shift.change_pct is None or shift.low_pct is None or shift.high_pct is None:
        return "-"
    return f"{_pct(shift.change_pct)} % ({_pct(shift.low_pct)} to {_pct(shift.high_pct)})"


def _pct(value: float) -> str:
    return f"{value:+,.1f}" if abs(value) < 1000 else f"{value:+.3g}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if 100 <= abs(value) < 1e12 else f"{value:.3g}"


def line_title(line: Line) -> str:
    """A line's figure in a few words: `threads 8: mean, NOTPM`."""
    figure = f"{line.metric}, {line.unit}" if line.unit else line.metric
    return f"{line.cell}: {figure}" if line.cell else figure


def circumstances(changed: Changes) -> Iterator[str]:
    """For each change what else changed near it; the same of several figures is told once."""
    told: dict[tuple[str, str], list[str]] = {}
    for line, shift in sorted(changed, key=lambda one: one[1].at):
        texts = "; ".join(one.text for one in shift.changed) or "nothing else that was recorded changed"
        told.setdefault((f"{shift.at:%Y-%m-%d}, first seen in {shift.run}", texts), []).append(line_title(line))
    for (when, texts), titles in told.items():
        yield f"{when} ({', '.join(titles)}): {texts}"


def unchanged(trend: Trend) -> list[str]:
    """The figures without a change, and which change would have been found."""
    lines = [line for line in trend.lines if not line.shifts]
    if not lines:
        return []
    if max(line.runs for line in lines) < 2 * LEVEL_MIN:
        return [f"too few runs: a change is seen with {LEVEL_MIN} runs before it and {LEVEL_MIN} after it at least"]
    if len(lines) <= LISTED_MAX:
        return [f"no change of {line_title(line)}{_seen(line)}" for line in lines]
    found = [line.found_from_pct for line in lines if line.found_from_pct is not None]
    seen = f"; steps of {min(found):.1f} to {max(found):.1f} % in the middle would be found" if found else ""
    return [f"no change of {len(lines)} figures of {len(trend.lines)}{seen}"]


def _seen(line: Line) -> str:
    if line.noise_pct is None or line.found_from_pct is None:
        return ""
    return f": the noise of a run is {line.noise_pct:.1f} %, and a step of {line.found_from_pct:.1f} % would be found"
