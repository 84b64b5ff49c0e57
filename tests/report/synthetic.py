"""Results as a run would leave them, without running: a warm-up, dips, stalls, noise, a seam, published figures."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from flatwater.results import (
    CellSummary,
    Dip,
    Event,
    LatencyUs,
    MetricSummary,
    Phase,
    Published,
    Result,
    Stall,
    create_result,
)
from flatwater.results.merging import ROW_GROUP_ROWS
from flatwater.results.schema import CellPlan, Manifest
from flatwater.results.series import SERIES_SCHEMA

Column = np.ndarray[Any, np.dtype[np.float64]]
Columns = dict[str, Column]

EXPERIMENT = """\
name = "fill-level"
title = "Random writes as a card fills"
about = "16 KiB random writes while the file takes more and more of the device."
source = "published section 1"

[workload]
kind = "fileio"
mode = "rndrw"
block_size = 16384

[storage]
kind = "file"
path = "/mnt/card/flatwater.dat"

[report]
x = "storage.fill"
series = "workload.threads"
"""
MACHINE = {
    "cpu": "Example Xeon 2.4 GHz",
    "cores": 16,
    "cpu_governor": "performance",
    "memory_bytes": 68719476736,
    "kernel": "6.1.0-18-amd64",
    "flatwater": "0.1.0",
    "python": "3.11.7",
    "storage": {"path": "/mnt/card", "device": "/dev/nvme0n1", "model": "EXAMPLE 960", "file_system": "xfs"},
}


def columns(rng: np.random.Generator, count: int, base: float, stalls: list[Stall], dips: list[Dip]) -> Columns:
    """Every series that a fileio run records, at one second, of a device that does `base` MiB/s."""
    at = np.arange(1, count + 1, dtype=np.float64)
    shape = 1 + 0.4 * np.exp(-at / (0.04 * count)) + 0.01 * np.sin(at / 37)
    shape *= 1 + 0.02 * rng.standard_normal(count)
    for dip in dips:
        inside = (at > dip.start_s) & (at <= dip.start_s + dip.length_s)
        shape[inside] *= 1 - dip.depth * (0.7 + 0.3 * rng.random(int(inside.sum())))
    dead = np.zeros(count, dtype=bool)
    for stall in stalls:
        dead |= (at > stall.start_s) & (at <= stall.start_s + stall.length_s)
    shape[dead] = 0.0
    mib = np.maximum(base * shape, 0.0)
    ops = np.round(mib * 64)
    slow = 1 / np.maximum(shape, 0.2)
    p50 = np.round(400 * slow * (1 + 0.03 * rng.standard_normal(count)), 1)
    latency = {
        "p50": p50,
        "p95": p50 * (2.2 + 0.2 * rng.random(count)),
        "p99": p50 * (4 + rng.random(count)),
        "p999": p50 * (9 + 5 * rng.random(count)),
        "max": p50 * (20 + 60 * rng.pareto(3, count)),
    }
    age = np.zeros(count)
    for place in np.flatnonzero(dead):
        age[place] = (age[place - 1] if place and dead[place - 1] else 0) + 1e6
    found: Columns = {"workload.ops_per_s": ops, "workload.throughput": ops / 64, "workload.bytes_per_s": ops * 16384}
    for kind, share in (("read", 0.6), ("write", 0.4)):
        found[f"workload.{kind}_ops_per_s"] = np.round(ops * share)
        found[f"workload.{kind}_bytes_per_s"] = np.round(ops * share) * 16384
    for which, value in latency.items():
        drawn = np.where(dead, age, np.round(value, 1))
        found[f"workload.latency_{which}_us"] = drawn
        found[f"workload.read_latency_{which}_us"] = np.round(drawn * 0.8, 1)
        found[f"workload.write_latency_{which}_us"] = np.round(drawn * 1.3, 1)
    user = 12 * shape + rng.random(count)
    found |= {
        "workload.oldest_in_flight_us": np.where(dead, age, np.round(p50 * 2)),
        "workload.in_flight": np.full(count, 32.0),
        "workload.errors_per_s": np.zeros(count),
        "workload.client_cpu_user_pct": np.round(30 * shape + rng.random(count), 2),
        "workload.client_cpu_system_pct": np.round(85 * shape + 3 * rng.random(count), 2),
        "storage.utilisation_pct": np.where(dead, 100.0, np.round(90 + 8 * rng.random(count), 2)),
        "storage.queue_depth": np.round(28 + 4 * rng.random(count), 2),
        "storage.read_ops_per_s": np.round(ops * 0.6),
        "storage.write_ops_per_s": np.round(ops * 0.4),
        "storage.read_bytes_per_s": np.round(ops * 0.6) * 16384,
        "storage.write_bytes_per_s": np.round(ops * 0.4) * 16384,
        "storage.read_await_us": np.where(dead, 0.0, np.round(p50 * 0.7, 1)),
        "storage.write_await_us": np.where(dead, 0.0, np.round(p50 * 1.1, 1)),
        "machine.cpu_user_pct": np.round(user, 2),
        "machine.cpu_system_pct": np.round(18 * shape + rng.random(count), 2),
        "machine.cpu_iowait_pct": np.round(20 + 4 * rng.random(count), 2),
        "machine.cpu_steal_pct": np.round(rng.pareto(3, count), 2),
        "machine.cpu_idle_pct": np.round(50 - user, 2),
        "machine.others_cpu_pct": np.round(5 + 4 * rng.random(count), 2),
        "machine.pressure_cpu_some_pct": np.round(3 * rng.random(count), 2),
        "machine.pressure_io_some_pct": np.round(60 + 9 * rng.random(count), 2),
        "machine.pressure_io_full_pct": np.round(40 + 9 * rng.random(count), 2),
        "machine.pressure_memory_some_pct": np.zeros(count),
        "machine.memory_available_bytes": np.round(52e9 - at / count * 3e9),
        "machine.memory_cached_bytes": np.round(8e9 + at / count * 2e9),
        "machine.memory_dirty_bytes": np.round(2e8 * (1 + rng.random(count))),
        "machine.memory_writeback_bytes": np.round(3e7 * rng.random(count)),
    }
    return found


def histogram(rng: np.random.Generator, middle_us: float) -> str:
    """A histogram of the measured phase as a summary holds it."""
    from flatwater._engine import Histogram

    found = Histogram()
    values = np.concatenate([rng.lognormal(np.log(middle_us * 1e3), 0.3, 4000), rng.lognormal(16, 0.5, 60)])
    for value in values.astype(int).tolist():
        found.record_ns(value, 25)
    found.record_ns(2_900_000_000)
    return base64.b64encode(found.to_v2()).decode()


def write_rows(result: Result, cells: Iterator[tuple[int, Columns]]) -> None:
    """`series.parquet` as results/series.py leaves it: sorted, in its row groups; one series in memory at a time."""
    with pq.ParquetWriter(result.path / "series.parquet", SERIES_SCHEMA, compression="zstd") as writer:
        for cell, found in cells:
            pending: list[pa.Table] = []
            for name in sorted(found):
                layer, metric = name.split(".", 1)
                value = found[name]
                code = pa.array(np.zeros(len(value), dtype=np.int32))
                arrays = [
                    pa.array(np.full(len(value), cell, dtype=np.int32)),
                    pa.DictionaryArray.from_arrays(code, pa.array([layer])),
                    pa.DictionaryArray.from_arrays(code, pa.array([metric])),
                    pa.array(np.arange(1, len(value) + 1, dtype=np.float64)),
                    pa.array(value),
                ]
                pending.append(pa.table(arrays, schema=SERIES_SCHEMA))
                if sum(map(len, pending)) >= ROW_GROUP_ROWS:
                    writer.write_table(pa.concat_tables(pending).unify_dictionaries(), ROW_GROUP_ROWS)
                    pending = []
            if pending:
                writer.write_table(pa.concat_tables(pending).unify_dictionaries(), ROW_GROUP_ROWS)


def summary(cell: int, swept: dict[str, Any], at: float, count: int, **more: Any) -> CellSummary:
    """A finished cell: `count` seconds, the first tenth of them warm-up."""
    warm = count // 10
    fields: dict[str, Any] = {
        "cell": cell,
        "set": swept,
        "seed": 7,
        "status": "complete",
        "layers": {
            "workload": "real",
            "database": "none",
            "cache": "none",
            "storage": "real",
            "device": "/mnt/card (nvme0n1)",
        },
        "unit": "MiB/s",
        "mean": at,
        "mean_ci95": at * 0.012,
        "stddev": at * 0.05,
        "median": at,
        "flatness": 0.951,
        "verdict": "flat",
        "verdict_text": f"{at:.1f} MiB/s, flat: 95 % of the seconds are above 95.1 % of the median.",
        "steady": True,
        "steady_since_s": float(warm),
        "samples": count - warm,
        "latency_us": LatencyUs(p50=401, p95=912, p99=1840, p999=5210, max=2_900_000, count=count * 60000),
        "client_cpu_us_per_op": 4.8,
        "operations": count * 60000,
        "bytes": count * 60000 * 16384,
        "phases": [
            Phase(name="warmup", start_s=0, end_s=warm),
            Phase(name="measure", start_s=warm, end_s=count),
        ],
    }
    return CellSummary(**(fields | more))


def create(
    path: Path,
    plans: list[tuple[dict[str, Any], int]],
    *,
    status: str = "complete",
    title: str = "Random writes as a card fills",
    experiment: str = EXPERIMENT,
) -> Result:
    """An empty result with a cell for each (swept values, repeat)."""
    manifest = Manifest(
        name="fill-level",
        title=title,
        flatwater_version="0.1.0",
        status=status,  # type: ignore[arg-type]
        created_at="2026-02-03T10:00:00+00:00",
        seed=7,
        cells=[CellPlan(index=i, repeat=repeat, set=swept, seed=7 + i) for i, (swept, repeat) in enumerate(plans)],
    )
    return create_result(path, manifest, experiment, MACHINE)


def write_summaries(result: Result, summaries: list[CellSummary]) -> None:
    cells = [one.model_dump(mode="json") for one in summaries]
    (result.path / "summary.json").write_text(json.dumps({"cells": cells}))


def single(path: Path, count: int = 1800, *, histograms: bool = True) -> Path:
    """One cell with everything: precondition, warm-up, dips, stalls, a seam, a fault, warnings, a model's series."""
    rng = np.random.default_rng(11)
    warm, start = count // 6, count // 4
    dips = [Dip(start_s=start + count * k / 8, length_s=count / 60, depth=0.35) for k in (1, 2, 3, 4)]
    stalls = [Stall(start_s=round(count * 0.7), length_s=3, oldest_us=3e6)]
    found = columns(rng, count, 420, stalls, dips)
    found["storage.write_amplification"] = np.round(3 - 2 * np.exp(-np.arange(count) / 300), 3)
    found["storage.compression_ratio"] = np.round(2 + 0.1 * rng.random(count), 3)
    found["database.heap_bytes"] = np.round((np.arange(count) % 300) / 300 * 2.8 * 2**30)
    found["database.bloat_pct"] = np.round(60 + 5 * np.sin(np.arange(count) / 60), 2)
    found["cache.ghost_ratio"] = np.round(0.9 + 0.05 * rng.random(count), 4)
    result = create(path, [({}, 0)])
    kinds = {"all": 430.0, "read": 380.0, "write": 600.0}
    text = "427.1 MiB/s with dips: every 225 s throughput falls by 35 % for 30 s, and it stalled once for 3 s."
    cell = summary(
        0,
        {},
        427.1,
        count,
        verdict="stalls",
        verdict_text=text,
        flatness=0.62,
        dips=dips,
        stalls=stalls,
        dip_period_s=225.0,
        warmup_end_s=start + 0.03 * count,
        phases=[
            Phase(name="precondition", start_s=0, end_s=warm),
            Phase(name="warmup", start_s=warm, end_s=start),
            Phase(name="measure", start_s=start, end_s=count),
        ],
        events=[
            Event(time_s=count * 0.55, kind="seam", text="resumed after a gap of 93 s"),
            Event(time_s=count * 0.7, kind="fault", text="the device did not answer for 3 s"),
        ],
        warnings=["The machine was noisy: others used 1.3 cores on average; stop them, or repeat the run."],
        published=Published(value=417, unit="MiB/s", ours=427.1, error=427.1 / 417 - 1, source="published section 1"),
        histograms={kind: histogram(rng, middle) for kind, middle in kinds.items()} if histograms else {},
    )
    write_rows(result, iter([(0, found)]))
    write_summaries(result, [cell])
    return path


DATABASE_EXPERIMENT = """\
name = "redo-size"
title = "TPC-C with a small and a large redo log"
about = "The same work on the same machine; only the size of the redo log differs."

[workload]
kind = "tpcc"
warehouses = 4

[database]
kind = "server"
"""
#: TPC-C's mix: of 23 transactions 10, 10, 1, 1, 1; and how slow each kind is beside the usual one.
TPCC = {
    "new_order": (10, 1.6),
    "payment": (10, 0.7),
    "order_status": (1, 0.5),
    "delivery": (1, 3.9),
    "stock_level": (1, 2.4),
}


def database_columns(
    rng: np.random.Generator, count: int, base: float, log_bytes: float, dead: tuple[int, int] = (0, 0)
) -> Columns:
    """Every series that a TPC-C run on a server records, at one second: `base` New-Orders a minute on a log of
    `log_bytes`; from `dead[0]` to `dead[1]` seconds the server is gone.
    """
    at = np.arange(1, count + 1, dtype=np.float64)
    gone = (at > dead[0]) & (at <= dead[1])
    limit = 0.81 * log_bytes
    # Redo of half a MiB a second fills what the log holds, then the page cleaner keeps pace.
    age = np.minimum(at * 9e6, limit * (0.92 + 0.04 * np.sin(at / 23) + 0.01 * rng.standard_normal(count)))
    near = np.clip(age / limit - 0.9, 0, 1) * 4
    shape = np.where(gone, 0.0, (1 - near) * (1 + 0.02 * rng.standard_normal(count)))
    notpm = base * shape
    all_tps = notpm / 60 * 23 / 10
    p50 = np.round(2400 / np.maximum(shape, 0.3) * (1 + 0.03 * rng.standard_normal(count)), 1)
    waited = np.where(gone, (at - dead[0]) * 1e6, 0.0)
    found = columns(rng, count, 300, [], [])
    found = {name: value for name, value in found.items() if not name.startswith(("workload.read", "workload.write"))}
    del found["workload.bytes_per_s"]
    found |= {"workload.throughput": notpm, "workload.ops_per_s": np.round(all_tps)}
    latency = {"p50": 1.0, "p95": 2.4, "p99": 4.4, "p999": 11.0, "max": 26.0}
    for which, factor in latency.items():
        slow = p50 * factor * (1 + 0.1 * rng.random(count))
        found[f"workload.latency_{which}_us"] = np.where(gone, waited, slow)
        for kind, (_, cost) in TPCC.items():
            found[f"workload.{kind}_latency_{which}_us"] = np.where(gone, np.nan, slow * cost)
    for kind, (share, _) in TPCC.items():
        found[f"workload.{kind}_ops_per_s"] = np.round(all_tps * share / 23, 1)
    back = dead[1] > 0
    found |= {
        "workload.oldest_in_flight_us": np.where(gone, waited, p50 * 3),
        "workload.in_flight": np.full(count, 8.0),
        "workload.queries_per_s": all_tps * 27,
        "workload.errors_per_s": np.zeros(count),
        "workload.deadlocks_per_s": rng.poisson(0.4, count).astype(np.float64),
        "workload.lock_timeouts_per_s": np.zeros(count),
        "workload.conflicts_per_s": np.zeros(count),
        "workload.rollbacks_per_s": np.round(all_tps * 0.0043, 1),
        "workload.reconnects_per_s": np.where(back & (at == dead[1]), 8.0, 0.0),
        "workload.connect_failures_per_s": np.where(gone, 40.0, 0.0),
    }
    told = {"checkpoint_age_bytes": age, "checkpoint_age_max_bytes": np.full(count, limit)}
    told |= _server_columns(rng, at, age / limit, all_tps, shape, gone)
    for name, value in told.items():
        found[f"database.{name}"] = np.where(gone, np.nan, np.round(value, 4))
    return found


def _server_columns(
    rng: np.random.Generator, at: Column, filled: Column, all_tps: Column, shape: Column, gone: Column
) -> Columns:
    """What the server counts, at one second: `filled` is the share of the log's limit that the checkpoint age takes."""
    count = len(at)
    near = np.clip(filled - 0.9, 0, 1) * 4
    flushed = np.where(gone, np.nan, all_tps * 9 * (1 + 0.2 * np.sin(at / 23)))
    return {
        "dirty_pct": 78 - 20 * (filled > 0.8) + rng.standard_normal(count),
        "dirty_pages": np.full(count, 9000.0),
        "pages_flushed_per_s": flushed,
        "pages_flushed_adaptive_per_s": flushed * 0.8,
        "pages_flushed_sync_per_s": flushed * np.clip(near - 0.2, 0, 1),
        "pages_flushed_lru_per_s": flushed * 0.1,
        "pages_flushed_background_per_s": np.zeros(count),
        "pages_read_per_s": all_tps * 1.6 * (1 + 5 * np.exp(-at / 20)),
        "read_requests_per_s": all_tps * 700,
        "hit_ratio": 1 - 0.002 * (1 + 5 * np.exp(-at / 20)) * (1 + 0.1 * rng.random(count)),
        "free_page_waits_per_s": np.zeros(count),
        "log_waits_per_s": np.zeros(count),
        "log_bytes_per_s": all_tps * 4100,
        "log_writes_per_s": all_tps * 0.7,
        "doublewrite_pages_per_s": flushed,
        "doublewrite_writes_per_s": flushed / 60,
        "history_length": 200 + 50 * np.sin(at / 11) + at,
        "row_lock_waits_per_s": rng.poisson(3, count).astype(np.float64),
        "row_lock_time_pct": rng.random(count) * 9,
        "threads_running": 1 + rng.poisson(4, count).astype(np.float64),
        "threads_connected": np.full(count, 9.0),
        "data_reads_per_s": all_tps * 1.6,
        "data_writes_per_s": all_tps * 12,
        "data_read_bytes_per_s": all_tps * 1.6 * 16384,
        "data_written_bytes_per_s": all_tps * 4600 + flushed * 2 * 16384,
        "data_fsyncs_per_s": 4 + rng.poisson(3, count).astype(np.float64),
        "queries_per_s": all_tps * 27,
        "server_cpu_user_pct": 95 * shape + rng.random(count),
        "server_cpu_system_pct": 30 * shape + rng.random(count),
        "server_rss_bytes": 4e8 * (1 - np.exp(-at / 40)) + 2e8,
    }


def database_summary(cell: int, swept: dict[str, Any], found: Columns, count: int, **more: Any) -> CellSummary:
    """A finished cell of `database_columns`."""
    measured = {name: value[count // 10 :] for name, value in found.items()}
    kinds = {"all": 2400.0} | {kind: 2400 * cost for kind, (_, cost) in TPCC.items()}
    fields: dict[str, Any] = {
        "unit": "NOTPM",
        "layers": {"workload": "real", "database": "real: MariaDB 10.11.14", "cache": "none", "storage": "real"},
        "mean": float(measured["workload.throughput"].mean()),
        "mean_ci95": float(measured["workload.throughput"].mean()) * 0.006,
        "bytes": 0,
        "metrics": {
            name: MetricSummary(mean=float(np.nanmean(value)), max=float(np.nanmax(value)))
            for name, value in measured.items()
        },
        "latency_by_kind_us": {
            kind: LatencyUs(p50=middle, p95=middle * 2.4, p99=middle * 4.4, p999=middle * 11, max=middle * 26, count=9)
            for kind, middle in kinds.items()
        },
        "histograms": {kind: histogram(np.random.default_rng(2), middle) for kind, middle in kinds.items()},
    }
    at = fields["mean"]
    fields["verdict_text"] = f"{at:,.0f} NOTPM, flat: 95 % of the seconds are above 95.1 % of the median."
    return summary(cell, swept, at, count, **(fields | more))


def database_sweep(path: Path, sizes: tuple[str, ...] = ("24M", "1G"), count: int = 600) -> Path:
    """TPC-C on a real server, by the size of its log; the larger the log, the later it flushes."""
    field = "database.settings.innodb_log_file_size"
    plans: list[tuple[dict[str, Any], int]] = [({field: size}, 0) for size in sizes]
    result = create(path, plans, title="TPC-C with a small and a large redo log", experiment=DATABASE_EXPERIMENT)
    rng = np.random.default_rng(23)
    rows, summaries = [], []
    for index, (swept, _) in enumerate(plans):
        log_bytes = 24 * 2**20 * (1024 / 24) ** (index / max(1, len(sizes) - 1))
        found = database_columns(rng, count, 26_900, log_bytes)
        rows.append((index, found))
        summaries.append(database_summary(index, swept, found, count))
    write_rows(result, iter(rows))
    write_summaries(result, summaries)
    return path


def crashed(path: Path, count: int = 300, instances: int = 1) -> Path:
    """A server that was killed and came back after 22 seconds; several of them where `instances` says so."""
    dead = (count // 2, count // 2 + 22)
    rng = np.random.default_rng(29)
    found = database_columns(rng, count, 26_900, 96 * 2**20, dead)
    for number in range(instances if instances > 1 else 0):
        swing = (1 + 0.15 * np.sin(np.arange(count) / 17 + number)) / instances
        found[f"workload.instance{number}_throughput"] = found["workload.throughput"] * swing
        for metric in ("checkpoint_age_bytes", "pages_flushed_per_s"):
            found[f"database.instance{number}_{metric}"] = found[f"database.{metric}"] * swing
        found[f"database.instance{number}_dirty_pct"] = found["database.dirty_pct"] * swing * instances
    result = create(path, [({}, 0)], title="A server that is killed", experiment=DATABASE_EXPERIMENT)
    stall = Stall(start_s=dead[0], length_s=dead[1] - dead[0], oldest_us=(dead[1] - dead[0]) * 1e6)
    events = [
        Event(time_s=dead[0], kind="fault", text="the server was killed (kill -9)"),
        Event(time_s=dead[1], kind="recovered", text="the server answered again after 22 s"),
    ]
    text = "24,600 NOTPM with a stall: at 150 s nothing finished for 22 s."
    cell = database_summary(
        0, {}, found, count, stalls=[stall], events=events, verdict="stalls", verdict_text=text, **RECOVERED
    )
    write_rows(result, iter([(0, found)]))
    write_summaries(result, [cell])
    return path


#: What only a database's summary holds.
RECOVERED: dict[str, Any] = {
    "counters": {
        "deadlocks": 118,
        "lock_timeouts": 0,
        "conflicts": 0,
        "rollbacks": 2301,
        "reconnects": 8,
        "connect_failures": 880,
    },
    "recoveries_s": [22.1],
    "servers": [
        {
            "instance": number,
            "flavour": "MariaDB",
            "version": "10.11.14",
            "comment": "Debian 12",
            "started_s": 2 + number,
        }
        for number in range(4)
    ],
    "response_limits": [
        {"kind": "new_order", "limit_us": 5e6, "p90_us": 8123.0, "within": True},
        {"kind": "delivery", "limit_us": 5e6, "p90_us": 5.2e6, "within": False},
    ],
    "consistency": [
        {"number": 1, "title": "W_YTD = sum(D_YTD)", "applies": True, "holds": True, "violations": 0, "note": ""},
        {
            "number": 3,
            "title": "max(NO_O_ID) - min(NO_O_ID) + 1 = count",
            "applies": True,
            "holds": False,
            "violations": 2,
            "note": "warehouse 1, district 4",
        },
        {
            "number": 11,
            "title": "orders - new orders = 2100",
            "applies": False,
            "holds": None,
            "violations": None,
            "note": "only before the first delivery",
        },
    ],
}

PUBLISHED = {0.2: 990.0, 0.4: 964.0, 0.6: 783.0, 0.8: 611.0, 1.0: 417.0}


def sweep(path: Path, *, threads: tuple[int, ...] = (8, 16), count: int = 600, repeats: int = 1) -> Path:
    """Fill level by threads, with published figures on the first line."""
    rng = np.random.default_rng(5)
    plans = [
        ({"storage.fill": fill, "workload.threads": many}, repeat)
        for many in threads
        for fill in PUBLISHED
        for repeat in range(repeats)
    ]
    result = create(path, plans)
    summaries = []
    rows: list[tuple[int, float, list[Dip]]] = []
    for index, (swept, repeat) in enumerate(plans):
        mean = PUBLISHED[swept["storage.fill"]] * (0.93 + 0.1 * swept["workload.threads"] / 16 + 0.02 * rng.random())
        dips = [Dip(start_s=count / 2, length_s=count / 30, depth=0.4)] if swept["storage.fill"] > 0.7 else []
        theirs = PUBLISHED[swept["storage.fill"]] if swept["workload.threads"] == threads[0] else None
        p95 = 912 * 990 / mean * swept["workload.threads"] / 8
        more: dict[str, Any] = {
            "repeat": repeat,
            "latency_us": LatencyUs(p50=p95 / 2, p95=p95, p99=p95 * 2, p999=p95 * 4, max=p95 * 90, count=100),
            "verdict": "dips" if dips else "flat",
            "dips": dips,
        }
        if theirs:
            more["published"] = Published(value=theirs, unit="MiB/s", ours=mean, error=mean / theirs - 1)
            more["published_others"] = [Published(value=p95 / 900, unit="ms", metric="latency_us.p95")]
        if index == 2:
            more |= {"verdict": "not steady", "steady": False, "warnings": ["The processors were saturated."]}
        summaries.append(summary(index, swept, mean, count, **more))
        rows.append((index, mean, dips))
    write_rows(result, ((index, columns(rng, count, mean, [], dips)) for index, mean, dips in rows))
    write_summaries(result, summaries)
    return path


def unfinished(path: Path, count: int = 90) -> Path:
    """A killed run of two cells: the first has a journal with a torn last line, the second never began."""
    result = create(path, [({"storage.fill": 0.2}, 0), ({"storage.fill": 0.4}, 0)], status="running")
    found = columns(np.random.default_rng(3), count, 300, [], [])
    journal = result.cells[0].journal
    journal.parent.mkdir(parents=True)
    with journal.open("w") as handle:
        for place in range(count):
            phase = "warmup" if place < 20 else "measure"
            metrics = {name: (None if place == 50 else float(value[place])) for name, value in found.items()}
            line = {"time_s": place + 1.0, "start_s": float(place), "phase": phase, "metrics": metrics}
            handle.write(json.dumps(line) + "\n")
        handle.write('{"time_s": 91.0, "metr')
    return path
