"""What every server of the matrix must do: one function a step, in the order in which they run.

A step returns what it found, and what of it this server does not have. It raises StepFailed, or a FlatwaterError, where
the server does not do what is asked for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from pydantic import JsonValue

from benchmarks.servers import encrypted, faults, networked, placing, watched
from benchmarks.servers.bench import Bench, Table, oltp, require, tpcc
from benchmarks.servers.registry import find
from flatwater.analysis.twin_doubts import LEVEL_TIMES
from flatwater.experiment.database.generation import generation_of
from flatwater.experiment.database.measured import load_workload
from flatwater.experiment.workload.oltp import Mode
from flatwater.experiment.workload.tpcc import Tpcc, Variant
from flatwater.results import Result
from flatwater.server import Instance
from flatwater.what_if.fitting import UNFITTED

#: The variant that the step `tpcc` runs.
DEFAULT_VARIANT = Tpcc.model_fields["variant"].default


@dataclass(frozen=True)
class Found:
    """What a step found: figures for people, and what this server does not have."""

    figures: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Step:
    """One column of the matrix."""

    name: str
    title: str
    run: Callable[[Bench], Found] = field(compare=False)


def _start(bench: Bench) -> Found:
    with Instance(bench.binary, bench.folder / "empty", {"innodb_buffer_pool_size": "32M"}) as instance:
        instance.initialise()
        instance.start()
        ((version, comment),) = instance.query("SELECT VERSION(), @@version_comment", columns=2)
        ((engine, *_),) = [row for row in instance.query("SHOW ENGINES", columns=2) if (row[0] or "") == "InnoDB"]
        require(engine == "InnoDB", "it has no InnoDB")
        instance.stop()
    return Found((f"{version} ({comment})",))


def _tpcc(bench: Bench) -> Found:
    return Found((_level_of(bench.tpcc), f"{_conditions(bench.tpcc)} conditions of consistency hold"))


def _variants(bench: Bench) -> Found:
    figures = []
    for variant in (one for one in get_args(Variant) if one != DEFAULT_VARIANT):
        result, _ = bench.run({**tpcc(5.0), "variant": variant})
        held = _conditions(result)
        figures.append(f"{variant} {_level_of(result)}, {held} conditions hold")
    return Found(tuple(figures))


def _level_of(result: Result) -> str:
    """Throughput of a run of tpcc, in words. Errors: StepFailed if nothing was done, or a transaction failed."""
    summary = result.cells[0].summary
    assert summary is not None
    require(summary.errors == 0, f"{summary.errors} transactions ended with an error")
    require(summary.mean, "no New-Order was done")
    return f"{summary.mean:,.0f} {summary.unit}"


def _conditions(result: Result) -> int:
    """How many of TPC-C's conditions of consistency hold. Errors: StepFailed if one that applies does not."""
    summary = result.cells[0].summary
    assert summary is not None
    checked = [one for one in summary.consistency if one.applies]
    broken = [one.number for one in checked if one.holds is not True]
    require(not broken, f"TPC-C condition {broken} of clause 3.3.2 does not hold")
    return len(checked)


def _oltp(bench: Bench) -> Found:
    modes = list(get_args(Mode))
    result, _ = bench.run(oltp("read_write"), sweep={"workload.mode": modes})
    means = {}
    for cell in result.cells:
        mode, summary = str(cell.set["workload.mode"]), cell.summary
        assert summary is not None
        require(summary.operations and summary.errors == 0, f"{mode}: {summary.errors} errors")
        means[mode] = summary.mean or 0.0
    require({*means} == {*modes}, f"no cell of {', '.join({*modes} - {*means})}")
    return Found(tuple(f"{mode} {mean:,.0f}/s" for mode, mean in means.items()))


def _snapshot(bench: Bench) -> Found:
    bench.tpcc  # noqa: B018 (it is made by now)
    snapshots = bench.storage / "flatwater-servers" / "snapshots"
    before = {path.name: path.stat().st_mtime_ns for path in snapshots.iterdir()}
    _, told = bench.run(tpcc(2.0))
    after = {path.name: path.stat().st_mtime_ns for path in snapshots.iterdir()}
    require(before == after and "load rows" not in told, "the second run did not start from the snapshot of the first")
    return Found((f"{len(before)} in use, started from a copy",))


#: Of each: what the server is asked for, and what it then runs with.
_SWEPT: tuple[tuple[str, tuple[tuple[JsonValue, str], ...]], ...] = (
    ("innodb_log_file_size", (("8M", str(8 << 20)), ("16M", str(16 << 20)))),
    ("innodb_doublewrite", ((True, "ON"), (False, "OFF"))),
    ("innodb_flush_log_at_trx_commit", ((0, "0"), (1, "1"), (2, "2"))),
    ("innodb_io_capacity", ((200, "200"), (400, "400"))),
)
#: Where a server shows what it has no variable for (any more): MySQL 9.7 has the capacity of its redo log only.
_SHOWN_BY = {"innodb_log_file_size": "innodb_redo_log_capacity"}


def _sweeps(bench: Bench) -> Found:
    done = []
    server = find(bench.name)
    for name, values in (*_SWEPT, *(server.own if server is not None else ())):
        told = _sweep(bench, name, [value for value, _ in values])
        for got, (value, expected) in zip(told, values, strict=True):
            require(got is not None, f"{name} is not shown")
            require(_same(name, got or "", expected), f"{name} = {value}: it runs with {got}")
        done.append(f"{name} {', '.join(_word(value) for value, _ in values)}")
    return Found(tuple(done))


def _sweep(bench: Bench, name: str, values: list[JsonValue]) -> list[str | None]:
    result, _ = bench.run(oltp("update_index", 1.0), sweep={f"database.settings.{name}": values})
    return [variables.get(name, variables.get(_SHOWN_BY.get(name, name))) for variables in bench.variables(result)]


def _same(name: str, got: str, expected: str) -> bool:
    # MariaDB since 10.5 has one file, as large as the two; MySQL 9.7 has their capacity.
    both = {expected, str(2 * int(expected))} if name == "innodb_log_file_size" else {expected}
    return got.upper() in {one.upper() for one in both}


def _word(value: JsonValue) -> str:
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)


#: Series of the strip that every server must have, and those that only some count.
_STRIP = ("checkpoint_age_bytes", "checkpoint_age_max_bytes", "dirty_pages", "dirty_pct", "pages_flushed_per_s")
_REASONS = {
    "pages_flushed_adaptive_per_s": "adaptive flushing",
    "pages_flushed_sync_per_s": "a full log",
    "pages_flushed_lru_per_s": "free pages",
    "pages_flushed_background_per_s": "the background",
}
#: A sample of the age is older than that of the limit by as long as the answer takes; and the limit of MySQL 8.0 moves.
_AGE_SLACK = 1.1


def _strip(bench: Bench) -> Found:
    """A log of 8 MiB under updates everywhere: the age comes near its limit."""
    work = oltp("update_non_index", 15.0, rows=50_000, distribution="uniform", connections=8)
    small: Table = {"innodb_log_file_size": "4M", "innodb_buffer_pool_size": "64M", "innodb_io_capacity": 200}
    result, _ = bench.run(work, small)
    (cell,) = result.cells
    series = {name: cell.measured("database", name) for name in (*_STRIP, *_REASONS)}
    lacking = [name for name in _STRIP if not len(series[name])]
    require(not lacking, f"the strip lacks {', '.join(lacking)}")
    highest = float(series["checkpoint_age_bytes"].value.max())
    limit = float(series["checkpoint_age_max_bytes"].value.max())
    require(0 < highest <= _AGE_SLACK * limit, f"the age was {highest:,.0f} bytes, and its limit is {limit:,.0f}")
    dirty = float(series["dirty_pct"].value.max())
    require(0 < dirty <= 100, f"{dirty} % of the pages are dirty")
    counted = [f"{title} {series[name].value.mean():,.0f}/s" for name, title in _REASONS.items() if len(series[name])]
    uncounted = [name for name in _REASONS if not len(series[name])]
    require_counted(bench.name, uncounted)
    figures = (f"age at most {highest / limit:.0%} of {limit / 2**20:.3g} MiB", f"dirty at most {dirty:.0f} %")
    flushed = f"flushed {series['pages_flushed_per_s'].value.mean():,.0f}/s" + (
        f": {', '.join(counted)}" if counted else ""
    )
    return Found((*figures, flushed), tuple(f"pages flushed for {_REASONS[name]}" for name in uncounted))


def require_counted(server: str, uncounted: Sequence[str]) -> None:
    """Each reason for flushing is counted, but for those that the registry has. Errors: StepFailed.

    A counter whose name is not known any more would be missed by nobody.
    """
    known = find(server)
    expected = known.uncounted if known is not None else ()
    for name in _REASONS:
        require(name in expected or name not in uncounted, f"{name} is not recorded, and the server should have it")
        require(name in uncounted or name not in expected, f"{name} is recorded, and the registry says it cannot be")


def _crash(bench: Bench) -> Found:
    database: Table = {"on_crash": "restart", "fault": {"kind": "kill", "at_s": 3}}
    result, _ = bench.run(tpcc(12.0), {"innodb_flush_log_at_trx_commit": 1}, database)
    summary = result.cells[0].summary
    assert summary is not None
    require(summary.recoveries_s, "it was not started again after it was killed")
    broken = [one.number for one in summary.consistency if one.applies and one.holds is not True]
    require(not broken, f"after recovery TPC-C condition {broken} does not hold")
    return Found((f"answered {summary.recoveries_s[0]:.1f} s after kill -9", "the data are consistent"))


def _faults(bench: Bench) -> Found:
    told = [*faults.freeze(bench), *faults.connections(bench)]
    reason = faults.can_mount()
    if reason:
        return Found(tuple(told), (f"a full disk: {reason}",))
    return Found((*told, *faults.full_disk(bench)))


def _watched(bench: Bench) -> Found:
    return Found((*watched.outages(bench), *watched.replication(bench)))


def _placed(bench: Bench) -> Found:
    return Found(*placing.placed(bench))


def _logins(bench: Bench) -> Found:
    return Found(*encrypted.logins(bench))


def _network(bench: Bench) -> Found:
    return Found(*networked.networked(bench))


def _fit(bench: Bench) -> Found:
    file = bench.folder / "workload.toml"
    bench.call("fit", "workload", bench.counted.path, "--out", file)
    measured = load_workload(str(file))
    require(measured.transactions > 0, "the file has no transaction")
    costs = measured.cpu_us
    figures = (
        f"{measured.transactions:,} transactions",
        f"{measured.page_requests.value:,.0f} page requests each",
        f"{costs.statement.value:,.0f} µs of CPU a statement",
    )
    return Found((*figures, f"generation {measured.generation}"), () if measured.indexes else ("sizes of indexes",))


_TWIN: Table = {"storage": {"kind": "volume", "device": "ebs-gp2-100gib"}}


def _twin(bench: Bench) -> Found:
    generation = generation_of(bench.binary.flavour, bench.binary.version_text)
    result, _ = bench.run(tpcc(5.0), twin={**_TWIN, "database": {"cores": 2, "generation": generation}})
    by_kind = {bool(cell.set.get("twin.modelled")): _mean(result, cell.index) for cell in result.cells}
    require({*by_kind} == {False, True}, "there is no cell of the twin")
    require(all(by_kind.values()), "one of the two did nothing")
    return Found((f"server {by_kind[False]:,.0f}, model of an unfitted volume {by_kind[True]:,.0f} NOTPM",))


def _mean(result: Result, index: int) -> float:
    summary = next(cell.summary for cell in result.cells if cell.index == index)
    return (summary.mean if summary is not None else None) or 0.0


def _what_if(bench: Bench) -> Found:
    told = json.loads(bench.call("what-if", bench.counted.path, "--json").stdout)
    require(told["changes"], "nothing was predicted")
    best = max(told["changes"], key=lambda change: change["ratio"] or 0.0)
    level = _level(told)
    require(
        1 / LEVEL_TIMES <= level <= LEVEL_TIMES, f"the twin, nothing fitted, is {level:.2f} times as fast as the server"
    )
    return Found(
        (
            f"the twin, nothing fitted, is {level:.2f} times as fast as the server",
            *told["fit"]["doubts"],
            f"{len(told['changes'])} changes predicted",
            f"most from {best['name']}: {best['ratio']:.2f}x",
        )
    )


def _level(told: Mapping[str, Any]) -> float:
    """The throughput of the unfitted twin, as a multiple of the server's."""
    (figures,) = [one for one in told["fit"]["compared"] if one["name"] == UNFITTED]
    return float(figures["model"]) / float(figures["measured"])


STEPS = (
    Step("start", "start", _start),
    Step("tpcc", "load, tpcc", _tpcc),
    Step("variants", "tpcc's variants", _variants),
    Step("oltp", "oltp in all modes", _oltp),
    Step("snapshot", "snapshot", _snapshot),
    Step("sweeps", "sweeps of settings", _sweeps),
    Step("strip", "the database strip", _strip),
    Step("crash", "kill and restart", _crash),
    Step("faults", "frozen, out of connections, a full disk", _faults),
    Step("watched", "observed; killed meanwhile; a broken replication", _watched),
    Step("placed", "parts placed elsewhere", _placed),
    Step("logins", "TLS and logins", _logins),
    Step("network", "over a network; several hosts; its statements sampled and sent again", _network),
    Step("fit", "fit workload", _fit),
    Step("twin", "twin", _twin),
    Step("what-if", "what-if", _what_if),
)
