"""Writes imported cells as a result folder, with the same files as a run of flatwater."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import tomli_w

from flatwater import __version__
from flatwater.printing import one_line
from flatwater.results.beside import new_result_folder
from flatwater.results.create import create_result
from flatwater.results.importers.imported import ImportedCell, Totals
from flatwater.results.opening import open_result
from flatwater.results.result import Cell, Result
from flatwater.results.schema import CellPlan, CellSummary, FieldValues, Manifest, Phase, now_utc
from flatwater.results.series import Series

#: `flatwater.analysis.analyse`, whose result has the names of CellSummary. The analysis imports this package, so it
#: cannot be imported here: the caller passes it in.
Analyse = Callable[[Callable[[str, str], Series], list[tuple[str, str]], list[Phase], str, float], Any]

_THROUGHPUT = "workload.throughput"


def keep(cells: list[ImportedCell], out: Path, name: str, about: str, analyse: Analyse) -> Result:
    """Writes the cells to a new result folder at `out` and returns it, complete.

    Errors: UserError. Whatever ends it early (an error, Ctrl-C), nothing is left at `out`.
    """
    # Names of files and of jobs may be any bytes; what is stored is read by others.
    cells, name, about = [_clean(cell) for cell in cells], one_line(name), one_line(about)
    sets = distinguish(cells)
    manifest = Manifest(
        name=name,
        title=about,
        flatwater_version=__version__,
        status="running",
        created_at=now_utc(),
        seed=0,
        source="import",
        cells=[CellPlan(index=index, repeat=0, set=values, seed=0) for index, values in enumerate(sets)],
    )
    with new_result_folder(out) as partial:
        result = create_result(partial, manifest, _experiment(cells, name, about), {})
        for cell, imported in zip(result.cells, cells, strict=True):
            _write_journal(cell, imported)
            # After a power failure the files are imported again: no need to wait for the disk.
            cell.finish(_summary(cell, imported, analyse), durable=False)
        result.seal("complete")
    return open_result(out)


def _clean(cell: ImportedCell) -> ImportedCell:
    """The cell with all text from outside fit to be stored and shown: each in one line, as Unicode."""
    texts = ("label", "unit", "settings", "warnings", "unread", "hidden", "totals", "files")
    return replace(cell, **{name: _cleaned(getattr(cell, name)) for name in texts})


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, dict):
        return {_cleaned(key): _cleaned(inner) for key, inner in value.items()}
    return [_cleaned(inner) for inner in value] if isinstance(value, list) else value


def distinguish(cells: list[ImportedCell]) -> list[FieldValues]:
    """The values that distinguish the cells, as in a sweep: the settings that differ, or else the labels."""
    if len(cells) == 1:
        return [{}]
    labels = [cell.label for cell in cells]
    unique = [label if labels.count(label) == 1 else f"{label} ({index})" for index, label in enumerate(labels, 1)]
    if any(cell.files for cell in cells):
        # Of a folder: the names of the files tell more than what the tools print of their settings.
        return [{"import.label": label} for label in unique]
    common = set.intersection(*(set(cell.settings) for cell in cells))
    varying = sorted(name for name in common if len({str(cell.settings[name]) for cell in cells}) > 1)
    sets = [{name: cell.settings[name] for name in varying} for cell in cells]
    if len({json.dumps(values, sort_keys=True) for values in sets}) == len(cells):
        return sets
    return [{**values, "import.label": label} for values, label in zip(sets, unique, strict=True)]


def _experiment(cells: list[ImportedCell], name: str, about: str) -> str:
    """The known part of the experiment: settings that all cells share, and the totals of each tool."""
    document: dict[str, Any] = {"name": name, "title": about}
    for field, value in cells[0].settings.items():
        if all(cell.settings.get(field) == value for cell in cells):
            layer, key = field.split(".", 1)
            document.setdefault(layer, {})[key] = value
    if len(units := {cell.unit for cell in cells}) == 1:
        document.setdefault("workload", {})["unit"] = units.pop()
    document["import"] = [
        {"label": cell.label, **({"files": cell.files} if cell.files else {}), **cell.totals} for cell in cells
    ]
    return tomli_w.dumps(document)


def _write_journal(cell: Cell, imported: ImportedCell) -> None:
    cell.folder.mkdir(parents=True, exist_ok=True)
    with cell.journal.open("w") as journal:
        for interval in sorted([*imported.intervals, *imported.others], key=lambda one: (one.end_s, one.start_s)):
            line = {
                "time_s": interval.end_s,
                "start_s": interval.start_s,
                "phase": "measure",
                "metrics": interval.metrics,
            }
            journal.write(json.dumps(line) + "\n")


def _summary(cell: Cell, imported: ImportedCell, analyse: Analyse) -> CellSummary:
    measure = Phase(name="measure", start_s=0.0, end_s=0.0)
    if imported.totals_only is not None:
        measure.end_s = imported.totals_only.length_s
    else:
        measure.start_s, measure.end_s = imported.intervals[0].start_s, imported.intervals[-1].end_s
    phases = [*imported.before, measure]
    judged = analyse(cell.series, cell.metrics(), phases, imported.unit, imported.interval_s)
    figures = {key: value for key, value in vars(judged).items() if key != "warnings"}
    warnings = [*imported.warnings, *judged.warnings]
    if imported.totals_only is not None:
        figures |= _of_totals(imported.totals_only)
        warnings = imported.warnings
    elif imported.hidden and judged.verdict == "flat":
        figures |= _of_hidden(imported.hidden, judged.verdict_text)
    return CellSummary(
        cell=cell.index,
        set=cell.set,
        seed=0,
        status="complete",
        layers=imported.layers,
        unit=imported.unit,
        interval_s=imported.interval_s,
        latency_us=imported.latency_us,
        latency_by_kind_us=imported.latency_by_kind_us,
        client_cpu_us_per_op=imported.client_cpu_us_per_op,
        # A run without any is none: nobody told how many they were, or for how long they went on.
        operations=imported.operations or None,
        bytes=imported.bytes,
        errors=imported.errors,
        warnings=warnings,
        phases=phases,
        started_at=imported.started_at,
        histograms={kind: _histogram(buckets) for kind, buckets in imported.buckets_ns.items()},
        **figures,
    )


def _of_totals(totals: Totals) -> dict[str, Any]:
    """The figures of a summary that totals give. Without a series, flatness and verdict are unknown."""
    return {
        "mean": totals.figures[_THROUGHPUT].mean,
        "stddev": totals.stddev,
        "samples": totals.samples,
        "metrics": totals.figures,
        "verdict_text": "No verdict: only totals of the whole run are known, and no line that could be flat.",
    }


def _of_hidden(hidden: list[str], text: str) -> dict[str, str | None]:
    """The verdict on a line that is flat but for times of which nothing, or only a mean, is known."""
    told = f"No verdict: {hidden[0]}, and a stall would not show there."
    return {"verdict": None, "verdict_text": f"{told} Apart from that it is f{text.removeprefix('F')}"}


def _histogram(buckets_ns: list[tuple[int, int]]) -> str:
    from flatwater._engine import Histogram  # here, because most imports have no histogram

    histogram = Histogram()
    for value_ns, count in buckets_ns:
        histogram.record_ns(value_ns, count)
    return base64.b64encode(histogram.to_v2()).decode()
