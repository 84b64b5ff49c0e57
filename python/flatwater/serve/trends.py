"""The page of repeated runs of one experiment: what `flatwater trend` prints, and each figure drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from flatwater.analysis.trend import Line, Run, Trend, find_trends, read_run
from flatwater.analysis.trend.words import (
    HEADINGS,
    METRICS,
    NUMBERS,
    change_rows,
    changes_of,
    circumstances,
    line_title,
    trend_text,
    unchanged,
)
from flatwater.errors import UserError
from flatwater.report.charts.trend import Level, trend_figure
from flatwater.report.document import Block, Document, Drawing, Heading, Items, Paragraph, Rows
from flatwater.report.figure import Figure
from flatwater.results import open_result
from flatwater.serve.listed import Listed

#: The newest runs of an experiment that are looked at: each is read.
RUNS_MAX = 300
#: Lines that are drawn; all of them are in the tables.
DRAWN_MAX = 12


def repeated(listed: Sequence[Listed]) -> list[tuple[str, int]]:
    """The names of experiments that were run more than once, with how often; the most frequent first."""
    counted = Counter(one.name for one in listed if one.done)
    return [(name, count) for name, count in counted.most_common() if count > 1]


def chosen(listed: Sequence[Listed], name: str) -> list[Listed]:
    """The newest runs of an experiment, the oldest of them first."""
    found = sorted((one for one in listed if one.name == name and one.done), key=lambda one: one.created_at)
    return found[-RUNS_MAX:]


def trend(listed: Sequence[Listed]) -> Document:
    """The trends of some runs. Errors: UserError if none can be compared."""
    runs: list[Run] = []
    left_out: list[str] = []
    names: dict[str, str] = {}
    for one in listed:
        try:
            runs.append(read_run(open_result(one.place.path), METRICS))
            names[str(one.place.path)] = one.place.name
        except UserError as error:
            left_out.append(f"{one.place.name}: {error.what}")
    if not runs:
        raise UserError("no run of it can be compared", hint="complete runs of an experiment can")
    found = find_trends(runs, METRICS)
    by_path = {str(run.path): run for run in runs}
    blocks = [
        block for one in reversed(found.trends) for block in _blocks(one, by_path, names, alone=len(found.trends) == 1)
    ]
    if found.apart or left_out:
        blocks.append(Heading("Not compared"))
        blocks.append(Items(tuple(_named(text, names) for text in [*found.apart, *left_out])))
    if len(listed) == RUNS_MAX:
        blocks.append(Paragraph(f"Only the newest {RUNS_MAX} runs are looked at; flatwater trend looks at all."))
    changes = sum(len(changes_of(one)) for one in found.trends)
    told = f"{changes} change{'' if changes == 1 else 's'} of level" if changes else "No change of level is seen"
    count = f"{len(runs)} run{'' if len(runs) == 1 else 's'}"
    return Document(f"Trend of {found.trends[-1].name}", f"{told} in {count}.", tuple(blocks))


def _blocks(one: Trend, runs: Mapping[str, Run], names: Mapping[str, str], *, alone: bool) -> Iterator[Block]:
    of = "" if alone else f" ({one.machine}, {one.first_at:%Y-%m-%d} to {one.last_at:%Y-%m-%d})"
    yield Heading(trend_text(one))
    changed = changes_of(one)
    if changed:
        yield Rows(HEADINGS, tuple(change_rows(changed)), NUMBERS)
        yield Items(tuple(_named(text, names) for text in circumstances(changed)))
    if told := unchanged(one):
        yield Items(tuple(told))
    # Those that changed first.
    lines = sorted(one.lines, key=lambda line: not line.shifts)
    for place, line in enumerate(lines[:DRAWN_MAX]):
        key = f"trend-{one.first_at:%Y%m%d%H%M%S}-{place}"
        yield Drawing(_figure(key, f"{line_title(line)}{of}", one, line, runs, names))
    if len(lines) > DRAWN_MAX:
        yield Paragraph(f"{len(lines) - DRAWN_MAX} figures more are not drawn.")


def _figure(key: str, title: str, one: Trend, line: Line, runs: Mapping[str, Run], names: Mapping[str, str]) -> Figure:
    points = []
    for path in one.runs:
        cell = next((cell for cell in runs[path].cells.values() if cell.label == line.cell), None)
        if cell is not None and line.metric in cell.figures:
            points.append((runs[path].at, names[path], cell.figures[line.metric]))
    return trend_figure(key, title, line.unit or line.metric, points, list(_levels(line, len(points))))


def _levels(line: Line, count: int) -> Iterator[Level]:
    """The levels between the changes; none of a figure without one."""
    for number, shift in enumerate(line.shifts):
        if number == 0:
            yield Level(0, shift.before)
        told = f"{shift.change_pct:+.1f} %" if shift.change_pct is not None else "changed"
        yield Level(count - shift.newest_runs, shift.after, f"{told}, {shift.at:%Y-%m-%d}")


def _named(text: str, names: Mapping[str, str]) -> str:
    """A sentence with the names that the list has in place of paths of this machine."""
    for path in sorted(names, key=len, reverse=True):
        text = text.replace(path, names[path])
    return text
