"""The report of a result as one page: what stands on it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from flatwater.errors import UserError
from flatwater.owned import require_replaceable, write_atomic
from flatwater.report import sentences, units
from flatwater.report.bounds import bound_word, bounds, sentences_of
from flatwater.report.charts.sweep_dots import has_names
from flatwater.report.contrast import Contrast, contrast
from flatwater.report.drawing import CELLS_DRAWN_MAX, draw, drawn_cells, sweep_figures
from flatwater.report.html import SIGNATURE, embedded, rendered
from flatwater.report.swept import label, shown
from flatwater.report.tables import (
    Table,
    agreement_text,
    consistency_text,
    figure_text,
    metric_words,
    published_table,
    published_text,
    shape_table,
    tables,
)
from flatwater.results import SCHEMA_VERSION, Cell, CellSummary, Result
from flatwater.results.foreign import open_regular
from flatwater.results.phases import began_s
from flatwater.results.tags import Tags, read_tags

#: The most rows of the machine's table, and the most marks listed for a cell; the rest is only counted.
ROWS_MAX = 300
MARKS_MAX = 50
#: The most characters of the experiment's text: a folder from another source may contain anything.
EXPERIMENT_MAX = 200_000
#: Names of documents that a report is not.
_NO_PAGES = (".md", ".markdown", ".pdf")


def write_page(result: Result, out: Path, *, force: bool = False) -> Path:
    """Writes the report of `result` to `out` and returns its path.

    It replaces a page that flatwater wrote, and another file only with `force`.

    Errors: UserError if `out` cannot be written; FlatwaterError if the result's series are damaged.
    """
    if out.suffix.lower() in _NO_PAGES:
        hint = "a name that ends in .html; --one-page writes Markdown and PDF, too"
        raise UserError("the report is a page of HTML", where=f"--out {out}", hint=hint)
    require_replaceable(out, SIGNATURE, force=force, where="--out")
    html = render(result)
    try:
        write_atomic(out, html, durable=False)
    except OSError as error:
        raise UserError(
            f"cannot write the report: {error.strerror}", where=str(out), hint="choose another place with --out"
        ) from None
    return out


def render(result: Result, *, home: str = "", spans: str = "", resume: str = "") -> str:
    """The whole page as text; `home`, `spans` and `resume` as of `rendered`."""
    shown_cells = drawn_cells(result)
    published, shapes, differs = published_table(result), shape_table(result), contrast(result)
    tags, damaged = _tags(result)
    return rendered(
        "page.html",
        title=result.manifest.title or result.name,
        home=home,
        spans=spans,
        resume=resume,
        figures=sweep_figures(result),
        result=result,
        tags=list(tags.tags.items()),
        note=tags.note,
        about=_word(result.experiment.get("about")),
        source=_word(result.experiment.get("source")),
        contents=_contents(result, published=published, shapes=shapes, differs=differs),
        headline=sentences.headline(result),
        notices=[*sentences.notices(result), *damaged],
        bounds=bounds(result),
        has_bounds=any(cell.summary is not None and cell.summary.bound for cell in result.cells),
        bound_word=bound_word,
        sentences_of=sentences_of,
        badges=sentences.badges(result),
        modelled=sentences.modelled_text(result),
        fields=list(dict.fromkeys(name for cell in result.cells for name in cell.set)),
        named=has_names(result),
        repeated=any(cell.plan.repeat for cell in result.cells),
        rows=_by_setting(result),
        contrast=differs,
        has_published=any(cell.summary is not None and cell.summary.published for cell in result.cells),
        drawn={cell.index for cell in shown_cells},
        cells=shown_cells,
        undrawn=len(result.cells) - len(shown_cells) if len(shown_cells) == CELLS_DRAWN_MAX else 0,
        data=[(drawn.recorded.cell.index, embedded(drawn.as_json())) for drawn in draw(result)],
        tiles=tiles,
        tables=tables,
        metric_words=metric_words,
        published_text=published_text,
        published_table=published,
        shape_table=shapes,
        agreement_told=agreement_text(result.agreement) if result.agreement is not None else "",
        figure_text=figure_text,
        verdict_word=sentences.verdict_word,
        marks=marks,
        machine=flattened(result.machine),
        experiment=_experiment(result),
        schema_version=SCHEMA_VERSION,
        label=label,
        shown=shown,
        units=units,
    )


def _contents(result: Result, *, published: Table, shapes: Table, differs: Contrast | None) -> list[tuple[str, str]]:
    """The parts of the page that this result has: (anchor, words)."""
    many = len(result.cells) > 1
    found = [
        (many, "sweep", "The sweep" if any(cell.set for cell in result.cells) else "The repeats"),
        (bool(published.rows), "published", "Beside what was published"),
        (bool(shapes.rows), "shapes", "Expected shapes"),
        (differs is not None, "differs", "What differs"),
        (bool(drawn_cells(result)), "over-time", "One cell over time" if many else "Over time"),
        (True, "machine", "The machine"),
        (True, "experiment", "The experiment"),
    ]
    return [(anchor, words) for there, anchor, words in found if there]


def _tags(result: Result) -> tuple[Tags, list[sentences.Notice]]:
    """The user's tags; without them, a notice that they are damaged: the figures are not."""
    try:
        return read_tags(result.path), []
    except UserError as error:
        return Tags(), [sentences.Notice("warning", f"The tags are left out: {error}.")]


def _by_setting(result: Result) -> list[tuple[Cell, bool]]:
    """The cells with the repeats of one setting together, and whether a cell repeats the cell above it."""
    groups: dict[str, list[Cell]] = {}
    for cell in result.cells:
        groups.setdefault(json.dumps(cell.set, sort_keys=True, default=str), []).append(cell)
    return [(cell, place > 0) for group in groups.values() for place, cell in enumerate(group)]


def _steady_since(summary: CellSummary) -> str:
    """When the run became steady; the moment in which the first interval began is no time of its own."""
    since_s = summary.steady_since_s
    if since_s is None:
        return ""
    # SNIA's rounds before the last five are not part of the measured phase, but they show when it became steady.
    start_s = began_s(summary.phases)
    return "from the start" if since_s - start_s < summary.interval_s / 2 else units.seconds(since_s)


def _transition(summary: CellSummary) -> list[tuple[str, str]]:
    """The three phases of a write run."""
    found = summary.transition
    if found is None:
        return []
    start_s = began_s(summary.phases)
    told = [
        ("fast level", f"{units.number(found.fast)} {summary.unit}"),
        ("transition began after", units.seconds(found.begin_s - start_s)),
    ]
    if found.steady is None:
        return [*told, ("transition", "not over")]
    return [
        *told,
        ("transition", units.seconds(found.transition_s)),
        ("steady level", f"{units.number(found.steady)} {summary.unit}"),
    ]


def tiles(summary: CellSummary) -> list[tuple[str, str]]:
    """The figures of one cell: (what, value with unit)."""
    latency = summary.latency_us
    found = [
        ("mean", sentences.mean_text(summary)),
        (
            "standard deviation",
            f"{units.number(summary.stddev, 3)} {summary.unit}" if summary.stddev is not None else "",
        ),
        ("flatness", units.number(summary.flatness, 3) if summary.flatness is not None else ""),
        ("steady since", _steady_since(summary)),
        *_transition(summary),
        ("dip period", units.seconds(summary.dip_period_s) if summary.dip_period_s is not None else ""),
    ]
    if latency is not None:
        words = {"p50": "p50", "p95": "p95", "p99": "p99", "p999": "p99.9", "max": "max"}
        found += [(f"latency {word}", units.microseconds(getattr(latency, name))) for name, word in words.items()]
    found += [
        ("client CPU per operation", units.microseconds(summary.client_cpu_us_per_op)),
        ("operations", f"{summary.operations:,}" if summary.operations else ""),
        ("queries", _rate(summary, "workload.queries_per_s")),
        ("data", units.binary_bytes(summary.bytes) if summary.bytes else ""),
        ("errors", f"{summary.errors:,}" if summary.errors else ""),
        ("consistency", consistency_text(summary)),
        ("measured", f"{summary.samples:,} x {units.seconds(summary.interval_s)}"),
    ]
    return [(what, value) for what, value in found if value and value != units.MISSING]


def _rate(summary: CellSummary, series: str) -> str:
    found = summary.metrics.get(series)
    return f"{units.number(found.mean)} /s" if found is not None and found.mean else ""


def marks(cell: Cell) -> list[tuple[float, str, str]]:
    """The events: (seconds, kind, text), in order."""
    summary = cell.summary
    found = [(event.time_s, event.kind, event.text) for event in cell.events]
    if summary is not None:
        found += [
            (dip.start_s, "dip", f"{units.percent(dip.depth)} under the usual level for {units.seconds(dip.length_s)}")
            for dip in summary.dips
        ]
        found += [
            (
                stall.start_s,
                "stall",
                f"nothing finished for {units.seconds(stall.length_s)}, oldest {units.microseconds(stall.oldest_us)}",
            )
            for stall in summary.stalls
        ]
    found.sort(key=lambda mark: mark[0])
    if len(found) > MARKS_MAX:
        more = len(found) - MARKS_MAX
        return [*found[:MARKS_MAX], (found[MARKS_MAX][0], "more", f"{more:,} more, in the result's summary.json")]
    return found


def flattened(tree: Any, prefix: str = "") -> list[tuple[str, str]]:
    """A tree of JSON as rows (path, value)."""
    rows: list[tuple[str, str]] = []
    pending: list[tuple[str, Any]] = [(prefix, tree)]
    while pending and len(rows) < ROWS_MAX:
        path, value = pending.pop()
        if isinstance(value, dict) and value:
            pending += [(f"{path}.{name}" if path else str(name), one) for name, one in reversed(value.items())]
        elif isinstance(value, list) and any(isinstance(one, dict | list) for one in value):
            pending += [(f"{path}[{place}]", one) for place, one in reversed(list(enumerate(value)))]
        elif path:
            rows.append((path, _cell_text(path, value)))
    if pending:
        rows.append(("…", f"{len(pending):,} more, in machine.json"))
    return rows


def _cell_text(path: str, value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(str(one) for one in value)
    if value is None:
        return units.MISSING
    if isinstance(value, int) and not isinstance(value, bool) and path.endswith("_bytes"):
        return units.binary_bytes(value)
    return str(value)


def _experiment(result: Result) -> str:
    try:
        with open_regular(result.path / "experiment.toml") as handle:
            text = handle.read(EXPERIMENT_MAX + 1).decode(errors="replace")
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return text if len(text) <= EXPERIMENT_MAX else text[:EXPERIMENT_MAX] + "\n… (the rest is in experiment.toml)"


def _word(value: Any) -> str:
    return value if isinstance(value, str) else ""
