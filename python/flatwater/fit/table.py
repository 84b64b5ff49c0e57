"""The measurements: rows of a condition, a metric and a value."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flatwater.errors import UserError
from flatwater.experiment import Experiment, InvalidExperimentError, iter_cells, load, published_for
from flatwater.experiment.library import library_files
from flatwater.experiment.units import parse_size
from flatwater.results import open_result
from flatwater.spelling import nearest, suggest

if TYPE_CHECKING:
    from flatwater.results import CellSummary

#: The metrics of a row, as a CSV file names them.
METRICS = ("MiB/s", "IOPS", "p50_us", "p95_us", "p99_us")
MODES = ("rndwr", "rndrd", "rndrw", "seqwr", "seqrd")
ENGINES = ("psync", "io_uring")
INITIALS = ("preconditioned", "filled", "fresh")
#: Names of metrics in an experiment -> in METRICS. The metric of a mean is the unit of the experiment.
_LATENCIES = {f"latency_us.{name}": f"{name}_us" for name in ("p50", "p95", "p99")}


@dataclass(frozen=True)
class Condition:
    """How a figure was measured: all inputs of the model."""

    mode: str = "rndwr"
    #: Share of reads in rndrw, %.
    read_pct: float = 60.0
    block_bytes: int = 16384
    threads: int = 1
    #: Requests that each thread keeps in flight.
    queue_depth: int = 1
    engine: str = "psync"
    initial: str = "preconditioned"
    #: Share of the usable capacity that holds data, 0..1; without effect if `used_bytes` is given.
    fill: float = 1.0
    used_bytes: int | None = None
    #: Share of the capacity that was formatted away, %.
    reserve_pct: float = 0.0

    def __str__(self) -> str:
        used = f"{self.used_bytes / 2**30:.4g} GiB used" if self.used_bytes else f"{100 * self.fill:.4g} % used"
        lanes = f"{self.threads} thread{'s' * (self.threads > 1)}"
        depth = f" x {self.queue_depth}" if self.queue_depth > 1 else ""
        return f"{self.mode} {self.block_bytes // 1024} KiB, {lanes}{depth}, {used}"


@dataclass(frozen=True)
class Measurement:
    """One measured figure."""

    condition: Condition
    #: One of METRICS.
    metric: str
    value: float
    source: str = ""
    #: Where it was read: a file and a row, or a cell.
    where: str = ""


def read_measurements(tables: Sequence[str]) -> list[Measurement]:
    """The figures of CSV files, result folders, and experiments (files, names of the library) with [[published]].

    Errors: UserError, one line, if a table is none of these, has no rows, or has an impossible row.
    """
    rows: list[Measurement] = []
    for table in tables:
        path = Path(table)
        if path.is_dir():
            rows += _read_result(path)
        elif path.suffix == ".toml" or (table in library_files() and not path.exists()):
            rows += _read_experiment(table)
        else:
            rows += _read_csv(path)
    return rows


def _read_csv(path: Path) -> list[Measurement]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = [line for line in file if not line.startswith("#")]
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", where=str(path)) from None
    except UnicodeDecodeError:
        raise UserError("is not UTF-8 text", where=str(path), hint="a table of measurements is a CSV file") from None
    reader = csv.DictReader(lines, skipinitialspace=True)
    columns = [name.strip() for name in reader.fieldnames or []]
    reader.fieldnames = columns
    for name in columns:
        if name not in _COLUMNS:
            raise UserError(f'"{name}" is not a column', where=str(path), hint=suggest(name, list(_COLUMNS)))
    for name in ("metric", "value"):
        if name not in columns:
            hint = f"it has: {', '.join(columns) or 'nothing'}"
            raise UserError(f'there is no column "{name}"', where=str(path), hint=hint)
    rows = [
        _row({name: text.strip() for name, text in row.items() if isinstance(text, str)}, f"{path}: row {number}")
        for number, row in enumerate(reader, start=1)
    ]
    if not rows:
        raise UserError(
            "there are no rows in it", where=str(path), hint="write one line for each figure, after the header"
        )
    return rows


def _number(text: str) -> float:
    value = float(text.replace("_", ""))
    if not math.isfinite(value):
        raise ValueError
    return value


def _positive(text: str) -> float:
    value = _number(text)
    if value <= 0:
        raise ValueError
    return value


def _count(text: str) -> int:
    value = int(text.replace("_", ""))
    if value <= 0:
        raise ValueError
    return value


def _share(text: str) -> float:
    value = _number(text.removesuffix("%").strip()) / (100 if text.endswith("%") else 1)
    if not 0 < value <= 1:
        raise ValueError
    return value


def _size(text: str) -> int:
    return parse_size(int(text) if text.isdecimal() else text)


def _percent(text: str) -> float:
    value = _number(text)
    if not 0 <= value <= 100:
        raise ValueError
    return value


def _one_of(choices: tuple[str, ...]) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in choices:
            meant = nearest(text, choices)
            raise ValueError(f"did you mean {meant}?" if meant else f"one of {', '.join(choices)}")
        return text

    return read


#: Columns of a CSV file -> the function that reads a value, and what the value must be.
_COLUMNS: dict[str, tuple[Callable[[str], Any], str]] = {
    "fill": (_share, "a share of the capacity: 0.8 or 80%"),
    "used_bytes": (_size, "a size: 100GiB"),
    "mode": (_one_of(MODES), "a mode"),
    "read_pct": (_percent, "0 to 100"),
    "block_size": (_size, "a size: 16KiB"),
    "threads": (_count, "a whole number over 0"),
    "queue_depth": (_count, "a whole number over 0"),
    "engine": (_one_of(ENGINES), "an engine"),
    "initial": (_one_of(INITIALS), "an initial state"),
    "reserve_pct": (_percent, "0 to 100"),
    "metric": (_one_of(METRICS), "a metric"),
    "value": (_positive, "a number over 0"),
    "source": (str, "text"),
}


def _row(texts: Mapping[str, str], where: str) -> Measurement:
    values: dict[str, Any] = {}
    for name, text in texts.items():
        if not text:
            continue
        read, must_be = _COLUMNS[name]
        try:
            values[name] = read(text)
        except ValueError as error:
            why = str(error) if str(error).startswith(("did you", "one of")) else must_be
            raise UserError(f'{name}: "{text}" is not {must_be.partition(":")[0]}', where=where, hint=why) from None
    for name in ("metric", "value"):
        if name not in values:
            raise UserError(f"{name} is empty", where=where)
    if "engine" not in values and values.get("queue_depth", 1) > 1:
        values["engine"] = "io_uring"
    metric, value, source = values.pop("metric"), values.pop("value"), values.pop("source", "")
    if "block_size" in values:
        values["block_bytes"] = values.pop("block_size")
    return Measurement(Condition(**values), metric, value, source, where)


def _read_experiment(path: str) -> list[Measurement]:
    experiment = load(path)
    rows = [
        Measurement(condition, metric, figure.value, figure.source, f"{path}: cell {planned.index}")
        for planned in iter_cells(experiment)
        for condition in [condition_of(planned.experiment, path)]
        for figure in published_for(experiment, planned.set)
        # Nothing can be fitted to a ratio or to a lower bound.
        if figure.relative_to is None
        and not figure.at_least
        and (metric := _LATENCIES.get(figure.metric, figure.unit if figure.metric == "mean" else "")) in METRICS
    ]
    if not rows:
        raise UserError("has no [[published]] throughput or latency", where=str(path))
    return rows


def _read_result(path: Path) -> list[Measurement]:
    result = open_result(path)
    try:
        experiment = load(path / "experiment.toml")
        planned = {cell.index: cell.experiment for cell in iter_cells(experiment)}
    except InvalidExperimentError as error:
        raise UserError(f"its experiment cannot be read: {error.what}", where=str(path)) from None
    rows = [
        row
        for cell in result.cells
        if cell.summary is not None and cell.summary.status == "complete" and cell.index in planned
        for row in _rows_of_cell(
            cell.summary, condition_of(planned[cell.index], str(path)), f"{path}: cell {cell.index}"
        )
    ]
    if not rows:
        raise UserError("has no complete cell of a fileio workload", where=str(path))
    return rows


def _rows_of_cell(summary: CellSummary, condition: Condition, where: str) -> Iterator[Measurement]:
    if summary.mean and summary.unit in METRICS:
        yield Measurement(condition, summary.unit, summary.mean, "own run", where)
    latency = summary.latency_us
    if latency is not None and latency.p95:
        yield Measurement(condition, "p95_us", latency.p95, "own run", where)


def condition_of(cell: Experiment, where: str) -> Condition:
    """The condition of an experiment's cell. Errors: UserError for a workload that is no closed loop of fileio."""
    if cell.workload.kind != "fileio":
        raise UserError(f"{cell.workload.kind} does not measure a device", where=where, hint="use a fileio experiment")
    workload, storage = cell.fileio, cell.storage
    if workload.mode not in MODES or not isinstance(workload.block_size, int):
        raise UserError("a mixture of sizes, or seqrw, cannot be fitted", where=where)
    if workload.rate_per_s:
        raise UserError("its rate is fixed, so it does not measure the device", where=where, hint="use a closed loop")
    size, scale = getattr(storage, "size", None), getattr(storage, "capacity_scale", 1.0)
    fill = getattr(storage, "fill", 1.0)
    return Condition(
        mode=workload.mode,
        read_pct=workload.read_pct,
        block_bytes=workload.block_size,
        threads=workload.threads,
        queue_depth=workload.queue_depth,
        engine=workload.engine,
        initial=getattr(storage, "initial", "preconditioned"),
        fill=fill,
        used_bytes=round(size * fill / scale) if size else None,
        reserve_pct=getattr(storage, "reserve_pct", 0.0),
    )
