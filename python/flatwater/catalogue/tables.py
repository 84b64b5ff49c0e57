"""The tables that a catalogue has of all runs: their columns, what each is, and its unit. `flatwater query` shows them.

A table's first column is the run's number; whoever reads a catalogue sees the run's path there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

#: The name of the column that says of which run a row is.
RUN = "run"

_TEXT, _WHOLE, _REAL, _YES = pa.string(), pa.int64(), pa.float64(), pa.bool_()
#: UTC, and without a zone: a comparison with a text then does not depend on the zone of this machine.
_TIME = pa.timestamp("s")
#: Few different texts, many rows.
_WORD = pa.dictionary(pa.int32(), pa.string())


@dataclass(frozen=True)
class Column:
    """A column: its type in memory, its meaning, and its unit where its name does not end in one."""

    name: str
    type: pa.DataType
    about: str
    unit: str = ""


@dataclass(frozen=True)
class Table:
    """One of the tables, and what a row of it is."""

    name: str
    about: str
    columns: tuple[Column, ...]

    @cached_property
    def own(self) -> pa.Schema:
        """Its columns alone, as the table of one run has them."""
        return pa.schema([pa.field(one.name, one.type) for one in self.columns])

    @cached_property
    def schema(self) -> pa.Schema:
        """As it is stored: the run's number, then the columns."""
        return pa.schema([pa.field(RUN, pa.int32()), *self.own])

    def filled(self, rows: Sequence[tuple[object, ...]]) -> pa.Table:
        """The table of one run, with these rows."""
        columns = list(zip(*rows, strict=True)) or [()] * len(self.columns)
        arrays = [pa.array(column, one.type) for column, one in zip(columns, self.columns, strict=True)]
        return pa.Table.from_arrays(arrays, schema=self.own)


_CELL = Column("cell", _WHOLE, "the number of the cell in its sweep, from 0")
_LAYER = "workload, database, cache, storage, machine"

RUNS = Table(
    "runs",
    "a result folder",
    (
        Column("name", _TEXT, "the experiment's name"),
        Column("title", _TEXT, "the experiment's title"),
        Column("status", _TEXT, "running (also of a killed run), complete, interrupted, failed"),
        Column("source", _TEXT, "run, import, observe"),
        Column("created_at", _TIME, "when the result folder was made", "UTC"),
        Column("seed", _WHOLE, "the seed of the experiment"),
        Column("flatwater_version", _TEXT, "which flatwater made it"),
        Column("cells", _WHOLE, "planned cells"),
        Column("cells_done", _WHOLE, "cells with a summary"),
        Column("note", _TEXT, "the note of `flatwater tag --note`"),
    ),
)
SUMMARY = Table(
    "summary",
    "a cell: the verdict, and the figures of its measured phase",
    (
        _CELL,
        Column("repeat", _WHOLE, "which repeat of its setting, from 0"),
        Column("set", _TEXT, "the swept fields and their values", "JSON"),
        Column("status", _TEXT, "complete, interrupted, failed"),
        Column("verdict", _TEXT, "flat, dips, stalls, drifting, not steady"),
        Column("verdict_text", _TEXT, "the verdict as a sentence"),
        Column("unit", _TEXT, "the unit of mean, mean_ci95, stddev and median: IOPS, MiB/s, tps, NOTPM"),
        Column("mean", _REAL, "throughput", "unit"),
        Column("mean_ci95", _REAL, "half of the 95 % confidence interval of the mean", "unit"),
        Column("stddev", _REAL, "standard deviation of the intervals", "unit"),
        Column("median", _REAL, "median of the intervals", "unit"),
        Column("flatness", _REAL, "5th percentile of the intervals over their median", "0 to 1"),
        Column("steady", _YES, "whether it became steady"),
        Column("steady_since_s", _REAL, "when, in seconds of the cell"),
        Column("dips", _WHOLE, "how many dips"),
        Column("stalls", _WHOLE, "how many stalls"),
        Column("stall_s_max", _REAL, "the longest stall"),
        Column("dip_period_s", _REAL, "from dip to dip, where they are regular"),
        Column("samples", _WHOLE, "measured intervals"),
        Column("interval_s", _REAL, "the length of an interval"),
        Column("latency_p50_us", _REAL, "latency of all requests or transactions"),
        Column("latency_p95_us", _REAL, "the same, 95th percentile"),
        Column("latency_p99_us", _REAL, "the same, 99th percentile"),
        Column("latency_p999_us", _REAL, "the same, 99.9th percentile"),
        Column("latency_max_us", _REAL, "the longest"),
        Column("client_cpu_us_per_op", _REAL, "CPU time of the load generator for an operation"),
        Column("operations", _WHOLE, "requests or transactions that ended"),
        Column("bytes", _WHOLE, "bytes that they moved"),
        Column("errors", _WHOLE, "those that failed"),
        Column("bound", _TEXT, "what bounds the cell: see docs/diagnosis.md"),
        Column("bound_share", _REAL, "the bound's share of the time or the seconds", "0 to 1"),
        Column("thresholds_failed", _WHOLE, "limits of [thresholds] that it breaks"),
        Column("workload", _TEXT, "the layer: real or modelled, with the device"),
        Column("database", _TEXT, "the same of the database"),
        Column("cache", _TEXT, "the same of the cache"),
        Column("storage", _TEXT, "the same of the storage"),
        Column("server", _TEXT, "flavour and version of the first server"),
        Column("started_at", _TIME, "when the cell began", "UTC"),
        Column("error", _TEXT, "why it failed"),
    ),
)
METRICS = Table(
    "metrics",
    "a recorded series of a cell, over its measured phase",
    (
        _CELL,
        Column("layer", _WORD, _LAYER),
        Column("metric", _WORD, "the name of the series, with its unit last, as in the report"),
        Column("mean", _REAL, "mean of the measured intervals", "the metric's"),
        Column("max", _REAL, "their maximum", "the metric's"),
    ),
)
EVENTS = Table(
    "events",
    "what happened at one moment of a cell",
    (
        _CELL,
        Column("time_s", _REAL, "seconds since the cell began, with its warm-up"),
        Column("kind", _WORD, "dip, stall, seam, fault, recovered, warning, round, incident"),
        Column("length_s", _REAL, "of a dip or a stall"),
        Column("text", _TEXT, "in words"),
    ),
)
THRESHOLDS = Table(
    "thresholds",
    "a limit of [thresholds] beside a cell's figure",
    (
        _CELL,
        Column("threshold", _TEXT, "its name, with its unit last"),
        Column("limit_text", _TEXT, "the limit, as it is written"),
        Column("value", _TEXT, "the cell's figure"),
        Column("passed", _YES, "whether it holds"),
        Column("text", _TEXT, "in words"),
    ),
)
MACHINE = Table(
    "machine",
    "the machine that ran the cells",
    (
        Column("cpu", _TEXT, "the processor"),
        Column("cores", _WHOLE, "logical processors"),
        Column("memory_bytes", _WHOLE, "main memory"),
        Column("architecture", _TEXT, "x86_64, aarch64, ..."),
        Column("kernel", _TEXT, "the kernel's version"),
        Column("system", _TEXT, "the distribution"),
        Column("hardware", _TEXT, "vendor and model"),
        Column("hypervisor", _YES, "whether it is a virtual machine"),
        Column("cpu_governor", _TEXT, "of the processor's clock"),
        Column("python", _TEXT, "the version of Python"),
        Column("storage_path", _TEXT, "where the data were"),
        Column("storage_file_system", _TEXT, "the file system there"),
        Column("storage_mount_options", _TEXT, "its mount options"),
        Column("storage_device", _TEXT, "the block device below"),
        Column("storage_device_bytes", _WHOLE, "its size"),
        Column("storage_model", _TEXT, "its model"),
        Column("storage_scheduler", _TEXT, "its IO scheduler"),
    ),
)
TAGS = Table("tags", "a tag of a run", (Column("tag", _TEXT, "its name"), Column("value", _TEXT, "its value")))

#: Not kept in a catalogue, but read from the runs when it is asked for.
SERIES = Table(
    "series",
    "a value of a recorded series; of runs that are over",
    (
        _CELL,
        Column("layer", _TEXT, _LAYER),
        Column("metric", _TEXT, "the name of the series, with its unit last, as in the report"),
        Column("time_s", _REAL, "the end of the interval, in seconds since the cell began, with its warm-up"),
        Column("value", _REAL, "the value of the interval", "the metric's"),
    ),
)

#: What a catalogue keeps, the run's own table first.
TABLES = (RUNS, SUMMARY, METRICS, EVENTS, THRESHOLDS, MACHINE, TAGS)
