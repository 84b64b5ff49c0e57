"""What a catalogue keeps of one result: the rows of its tables, from the small files of its folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from flatwater.errors import UserError
from flatwater.results.facts import MachineFacts
from flatwater.results.opening import read_machine, read_manifest, read_summaries
from flatwater.results.schema import CellSummary, Manifest
from flatwater.results.stored import exists, read_json, validate
from flatwater.results.tags import Tags, read_tags

#: A value of a column.
Value = str | int | float | bool | datetime | None
#: The rows of each table, without the run's number.
Rows = dict[str, list[tuple[Value, ...]]]


class Read(NamedTuple):
    """One result: its rows, and whether they can change without a change of the files that were looked at."""

    rows: Rows
    #: While a run is under way, its cells are in files of their own.
    unfinished: bool
    #: What of it could not be read, and is left out.
    left_out: str | None


def read_rows(folder: Path) -> Read:
    """The rows of a result. Tags that are damaged are left out.

    Errors: UserError for a result that is damaged, or of a newer flatwater.
    """
    manifest = read_manifest(folder)
    unfinished = manifest.status == "running"
    summaries = _stored_by_cells(folder) if unfinished else _summaries(folder)
    tags, left_out = Tags(), None
    try:
        tags = read_tags(folder)
    except UserError as error:
        left_out = f"its tags: {error}"
    planned = {plan.index for plan in manifest.cells}
    cells = [summary for index, summary in sorted(summaries.items()) if index in planned]
    rows: Rows = {
        "runs": [_run(manifest, len(cells), tags)],
        "machine": [_machine(read_machine(folder))],
        "tags": list(tags.tags.items()),
    }
    for cell in cells:
        for name, some in cell_rows(cell).items():
            rows.setdefault(name, []).extend(some)
    return Read(rows, unfinished, left_out)


def cell_rows(cell: CellSummary) -> Rows:
    """The rows of one cell, in each of the tables that have cells."""
    return {
        "summary": [_cell(cell)],
        "metrics": list(_metrics(cell)),
        "events": list(_events(cell)),
        "thresholds": list(_thresholds(cell)),
    }


def _summaries(folder: Path) -> dict[int, CellSummary]:
    file = folder / "summary.json"
    return read_summaries(file)[0] if exists(file) else {}


def _stored_by_cells(folder: Path) -> dict[int, CellSummary]:
    files = sorted((folder / "cells").glob("[0-9]*/summary.json"))
    found = (validate(CellSummary, read_json(file), file) for file in files)
    return {summary.cell: summary for summary in found}


def _run(manifest: Manifest, done: int, tags: Tags) -> tuple[Value, ...]:
    return (
        *(manifest.name, manifest.title, manifest.status, manifest.source, _time(manifest.created_at)),
        *(_whole(manifest.seed), manifest.flatwater_version, len(manifest.cells), done, tags.note),
    )


def _cell(one: CellSummary) -> tuple[Value, ...]:
    latency, bound = one.latency_us, one.bound
    server = one.servers[0] if one.servers else None
    return (
        *(one.cell, _whole(one.repeat), json.dumps(one.set, sort_keys=True), one.status, one.verdict),
        *(one.verdict_text, one.unit, one.mean, one.mean_ci95, one.stddev, one.median, one.flatness),
        *(one.steady, one.steady_since_s, len(one.dips), len(one.stalls)),
        max((stall.length_s for stall in one.stalls), default=None),
        *(one.dip_period_s, _whole(one.samples), one.interval_s),
        *((latency.p50, latency.p95, latency.p99, latency.p999, latency.max) if latency else (None,) * 5),
        *(one.client_cpu_us_per_op, _whole(one.operations), _whole(one.bytes), _whole(one.errors)),
        *((bound.name, bound.share) if bound else (None, None)),
        sum(not limit.passed for limit in one.thresholds),
        *(one.layers.get(layer) for layer in ("workload", "database", "cache", "storage")),
        f"{server.flavour} {server.version}" if server else None,
        *(_time(one.started_at), one.error),
    )


def _metrics(one: CellSummary) -> Iterator[tuple[Value, ...]]:
    for name, figures in one.metrics.items():
        layer, _, metric = name.partition(".")
        yield one.cell, layer, metric, figures.mean, figures.max


def _events(one: CellSummary) -> Iterator[tuple[Value, ...]]:
    found: list[tuple[float, str, float | None, str]] = [(at.time_s, at.kind, None, at.text) for at in one.events]
    found += [(dip.start_s, "dip", dip.length_s, f"{dip.depth:.0%} under the usual level") for dip in one.dips]
    found += [(stall.start_s, "stall", stall.length_s, "no request finished") for stall in one.stalls]
    for row in sorted(found, key=lambda row: row[0]):
        yield one.cell, *row


def _thresholds(one: CellSummary) -> Iterator[tuple[Value, ...]]:
    for limit in one.thresholds:
        wanted = ", ".join(limit.limit) if isinstance(limit.limit, list) else f"{limit.limit:g}"
        value = limit.value if isinstance(limit.value, str) else None if limit.value is None else f"{limit.value:g}"
        yield one.cell, limit.name, wanted, value, limit.passed, limit.text


def _machine(facts: MachineFacts) -> tuple[Value, ...]:
    storage = facts.get("storage", {})
    return (
        *(facts.get("cpu"), _whole(facts.get("cores")), _whole(facts.get("memory_bytes")), facts.get("architecture")),
        *(facts.get("kernel"), facts.get("system"), facts.get("hardware"), facts.get("hypervisor")),
        *(facts.get("cpu_governor"), facts.get("python")),
        *(storage.get("path"), storage.get("file_system"), storage.get("mount_options"), storage.get("device")),
        *(_whole(storage.get("device_bytes")), storage.get("model"), storage.get("scheduler")),
    )


def _whole(value: int | None) -> int | None:
    """A whole number that fits a column: integers in JSON have no limit."""
    return value if value is not None and abs(value) < 2**63 else None


def _time(text: str) -> datetime | None:
    """A stored time in UTC, without its zone; None for text that is none."""
    try:
        found = datetime.fromisoformat(text)
        return found if found.tzinfo is None else found.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):  # in UTC it is before the year 1
        return None
