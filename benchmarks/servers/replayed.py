"""A load on a server of the matrix is observed with samples of its statements, and these are sent again.

A server does not tell the values of what it has prepared, so the load sends text, as many applications do.
"""

from __future__ import annotations

import json
import re
import signal
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import tomli_w

from benchmarks.servers.bench import Bench, require
from benchmarks.servers.watched import ENDLESS_S, INTERVALS
from flatwater.results import Result, open_result
from flatwater.results.digests import DIGESTS, digests_in
from flatwater.server import Instance

#: What makes a MariaDB keep digests and statements; a MySQL does by itself.
TELLS: Mapping[str, str] = {
    "performance_schema": "ON",
    "performance_schema_consumer_events_statements_current": "ON",
    "performance_schema_consumer_events_statements_history": "ON",
}
#: The table of a server that has digests: MySQL since 5.6, MariaDB since 10.0.
_TABLE = "events_statements_summary_by_digest"
_SCHEMA, _ROWS = "sampled", 100
#: Kind of statement -> the statement of the load. Forms and samples are known by its first words.
_LOAD = {
    "select": "SELECT a FROM sampled_rows WHERE id = :id",
    "update": "UPDATE sampled_rows SET a = :a WHERE id = :id",
}
_FIRST_WORDS = 4
#: The file of the statements while a server is observed, below the result.
_LIVE = f"cells/0000/{DIGESTS}"


def replayed(bench: Bench, server: Instance, url: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What was sampled and sent again, or why this server tells no statements. Errors: StepFailed."""
    sql = f"SELECT 1 FROM information_schema.tables WHERE table_name = '{_TABLE}'"
    if not server.query(sql):
        return (), (_without_digests(bench, url),)
    server.query(f"CREATE DATABASE {_SCHEMA}")
    server.query(f"CREATE TABLE {_SCHEMA}.sampled_rows (id INT PRIMARY KEY, a INT) ENGINE = InnoDB")
    rows = ", ".join(f"({number}, 0)" for number in range(1, _ROWS + 1))
    server.query(f"INSERT INTO {_SCHEMA}.sampled_rows VALUES {rows}")
    observed = _observed(bench, f"{url}{_SCHEMA}")
    counted = counts(_lines(observed))
    summary = _replay(bench, observed, f"{url}{_SCHEMA}").cells[0].summary
    require(summary is not None and summary.status == "complete", "the replay is not complete")
    assert summary is not None
    require(summary.errors == 0, f"the replay: {summary.errors} statements failed")
    sent = {kind: summary.latency_by_kind_us[kind].count for kind in _LOAD}
    require(all(sent[kind] >= counted[kind] > 0 for kind in _LOAD), f"{dict(counted)} were counted, {sent} were sent")
    told = " and ".join(f"{sent[kind]:,} {kind.upper()}" for kind in _LOAD)
    return (f"observed with samples, and {told} sent again without an error",), ()


def _without_digests(bench: Bench, url: str) -> str:
    """The words of flatwater for a server without digests. Errors: StepFailed."""
    out = bench.folder / "unsampled"
    bench.call("observe", url, "--samples", "--for", "2s", "--out", out)
    summary = open_result(out).cells[0].summary
    gap = next((gap for gap in summary.gaps if gap.what == "samples of statements"), None) if summary else None
    require(gap is not None, "nothing says that there are no samples of statements")
    assert gap is not None
    told = bench.fails("run", _file(bench, out, url), "--out", bench.folder / "unsampled-replay", code=2)
    return f"samples and replay: {gap.why}; a replay is refused: {told}"


def _observed(bench: Bench, url: str) -> Path:
    """The result of an observation of the load, with samples of both of its statements. Errors: StepFailed."""
    transactions = {kind: {"statements": [text], "autocommit": True} for kind, text in _LOAD.items()}
    numbers = {"kind": "uniform", "max": _ROWS}
    workload = {"kind": "sql", "connections": 2, "rate_per_s": 50, "duration_s": ENDLESS_S, "warmup_s": 0}
    workload |= {"prepared": False, "allow_writes": True, "transactions": transactions}
    workload["parameters"] = {"id": numbers, "a": numbers}
    file, out = bench.folder / "sampled.toml", bench.folder / "sampled"
    file.write_text(tomli_w.dumps({"workload": workload, "database": {"kind": "server", "url": url}}), encoding="utf-8")
    with bench.running("run", file, out=bench.folder / "sampled-load") as load:
        load.until(INTERVALS, "the third interval of the load")
        with bench.running("observe", url, "--samples", out=out) as watching:
            for kind, text in _LOAD.items():
                sample = re.compile(rf'"sample"[^\n]*{_beginning(text)}')
                watching.until(sample, f"a sample of {kind}", _LIVE)
            watching.until(INTERVALS, "the third interval of the observation")
            require(watching.end(signal.SIGINT) == 0, "the observation did not end well")
        require(load.end(signal.SIGINT) == 130, "the load did not end when it was interrupted")
    return out


def _beginning(text: str) -> str:
    return " ".join(text.split()[:_FIRST_WORDS])


def _lines(observed: Path) -> list[Mapping[str, Any]]:
    path = digests_in(observed)
    require(path is not None, "the observation has kept no statements")
    assert path is not None
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def counts(lines: Iterable[Mapping[str, Any]]) -> Counter[str]:
    """How often each kind of the load's statements was counted. Servers differ in quotes and capitals of forms."""
    kinds: dict[int, str] = {}
    found: Counter[str] = Counter()
    for line in lines:
        if "statement" in line:
            form = " ".join(line["text"].replace("`", " ").upper().split())
            for kind, text in _LOAD.items():
                if form.startswith(_beginning(text).upper()):
                    kinds[line["statement"]] = kind
        for number, count, _ in line.get("counts", ()):
            if number in kinds:
                found[kinds[number]] += count
    return found


def _replay(bench: Bench, observed: Path, url: str) -> Result:
    out = bench.folder / "replay"
    bench.call("run", _file(bench, observed, url), "--out", out)
    return open_result(out)


def _file(bench: Bench, observed: Path, url: str) -> Path:
    """The file of a replay of what was observed."""
    workload = {"kind": "query-log", "log": str(observed), "allow_writes": True, "speed": "asap"}
    path = bench.folder / f"{observed.name}-replay.toml"
    path.write_text(tomli_w.dumps({"workload": workload, "database": {"kind": "server", "url": url}}), encoding="utf-8")
    return path
