"""Each bound in both directions, on lines as real runs record them."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import pytest

from flatwater.analysis.bound import BOUNDS, Evidence, diagnose, read_evidence
from flatwater.analysis.bound.diagnosis import decide
from flatwater.analysis.bound.finding import LISTED_MIN, MAIN_MIN, Finding, Name, found
from flatwater.analysis.bound.sessions import session_time
from flatwater.results.load_host import LoadHost
from flatwater.results.schema import LatencyUs, ServerFacts

sys.path.insert(0, str(Path(__file__).parents[1]))
from known_series import make_result

REAL = {"workload": "real", "database": "real", "storage": "real"}
SERVER: dict[str, Any] = {
    "workload": {"kind": "tpcc", "connections": 8},
    "database": {
        "kind": "server",
        "settings": {
            "innodb_flush_log_at_trx_commit": 1,
            "innodb_buffer_pool_size": "1G",
            "innodb_max_dirty_pages_pct": 90,
        },
    },
    "storage": {"path": "/mnt"},
}
#: A second of a server that has nothing to complain of: 8 sessions, of which 4 run on 8 cores.
QUIET: dict[str, float] = {
    "workload.ops_per_s": 1000,
    "workload.in_flight": 8,
    "workload.client_cpu_user_pct": 20,
    "workload.client_cpu_system_pct": 20,
    "workload.client_cpu_wait_pct": 0,
    "machine.cpu_idle_pct": 45,
    "machine.others_cpu_pct": 400,
    "machine.children_cpu_pct": 400,
    "machine.cpu_steal_pct": 0,
    "database.server_cpu_user_pct": 350,
    "database.server_cpu_system_pct": 50,
    "database.server_cpu_wait_pct": 0,
    "database.checkpoint_age_max_bytes": 800e6,
    "database.checkpoint_age_bytes": 100e6,
    "database.dirty_pct": 20,
    "database.pages_flushed_per_s": 200,
    "database.pages_flushed_sync_per_s": 0,
    "database.pages_read_per_s": 10,
    "database.pages_data": 50_000,
    "database.pages_free": 100,
    "database.hit_ratio": 0.9999,
    "database.free_page_waits_per_s": 0,
    "database.row_lock_time_pct": 10,
    "database.row_lock_waits_per_s": 1,
    "database.log_writes_per_s": 900,
    "database.data_fsyncs_per_s": 950,
    "database.sessions_reading": 0.01,
    "database.sessions_syncing": 0.05,
    "database.sessions_waiting": 0.3,
    "database.threads_syncing": 0.05,
    "storage.utilisation_pct": 20,
    "storage.queue_depth": 0.3,
}


def evidence(
    tmp_path: Path,
    lines: Mapping[str, float],
    tables: dict[str, Any] | None = None,
    *,
    seconds: int = 30,
    cores: int = 8,
    hosts: int = 0,
) -> Evidence:
    """What a real run tells in which every second is alike. `hosts` of 4 cores each made the load."""
    experiment = tables if tables is not None else SERVER
    more = {name: [float(value)] * seconds for name, value in lines.items()}
    layers = {**REAL, "database": "real" if "database" in experiment else "none"}
    result = make_result(
        tmp_path / "run",
        [({}, 0, [1.0] * seconds)],
        machine={"cores": cores, "load_hosts": [{"cores": 4}] * hosts},
        more=more,
        experiment=experiment,
        layers=layers,
    )
    cell = result.cells[0]
    assert cell.summary is not None
    if "database" in experiment:
        cell.summary.servers = [ServerFacts(flavour="mariadb", version="10.11.6-MariaDB")]
    cell.summary.load_hosts = [LoadHost(host=f"10.0.0.{2 + one}", first=1, sessions=4) for one in range(hosts)]
    cell.summary.latency_by_kind_us = {"all": LatencyUs(p50=1000, count=1)}
    return read_evidence(cell)


#: The bound, and what differs from a quiet second when it is at work.
AT_WORK: dict[str, dict[str, float]] = {
    "log limit": {"database.checkpoint_age_bytes": 720e6},
    "dirty limit": {"database.dirty_pct": 90},
    "free pages": {"database.free_page_waits_per_s": 400, "database.pages_read_per_s": 1000},
    "fsync path": {
        "database.threads_syncing": 0.95,
        "database.sessions_syncing": 0.95,
        "database.sessions_waiting": 6,
        "database.log_writes_per_s": 200,
        "database.data_fsyncs_per_s": 210,
    },
    "contention": {"database.row_lock_time_pct": 600, "database.sessions_waiting": 6.5},
    "cache misses": {"database.sessions_reading": 6, "database.pages_read_per_s": 5000, "database.hit_ratio": 0.9},
    "device latency": {"database.sessions_reading": 6, "database.pages_read_per_s": 500},
    "device throughput": {"storage.utilisation_pct": 99, "storage.queue_depth": 30},
    "CPU": {"database.server_cpu_user_pct": 700, "machine.children_cpu_pct": 750, "machine.others_cpu_pct": 750},
    "neighbour": {
        "machine.others_cpu_pct": 1000,
        "database.server_cpu_wait_pct": 500,
        "machine.cpu_idle_pct": 0,
    },
    "client": {"workload.client_cpu_user_pct": 500, "machine.cpu_idle_pct": 0},
}


@pytest.mark.parametrize("name", AT_WORK)
def test_a_bound_at_work_is_found(name: str, tmp_path: Path) -> None:
    told = diagnose(evidence(tmp_path, {**QUIET, **AT_WORK[name]}))
    assert name in [one.name for one in told.findings[:2]], told


def test_of_a_quiet_server_only_its_processors_are_told(tmp_path: Path) -> None:
    told = diagnose(evidence(tmp_path, QUIET))
    assert [one.name for one in told.findings] == ["CPU"]


@pytest.mark.parametrize("find", BOUNDS)
def test_a_bound_without_its_quantities_is_silent(find: Any, tmp_path: Path) -> None:
    assert find(evidence(tmp_path, {})) is None
    assert find(evidence(tmp_path / "other", {}, {})) is None


#: Two load hosts, of which the second has no processor left.
ON_HOSTS = {
    "workload.client_cpu_user_pct": 400,
    "workload.client_cpu_wait_pct": 200,
    "workload.host0_client_cpu_pct": 40,
    "workload.host0_machine_idle_pct": 80,
    "workload.host1_client_cpu_pct": 380,
    "workload.host1_machine_idle_pct": 1,
}


def test_a_busy_load_host_is_named(tmp_path: Path) -> None:
    told = diagnose(evidence(tmp_path, QUIET | ON_HOSTS, hosts=2))
    [client] = [one for one in told.findings if one.name == "client"]
    # 4.2 cores and 2 threads that waited for one, of 8 sessions.
    assert client.share == pytest.approx(6.2 / 8)
    assert client.evidence[0].startswith("the load generator on 10.0.0.3 used 3.8 of its 4 cores")
    assert "idle for 1 %" in client.evidence[0] and "10.0.0.2" in client.evidence[1]


@pytest.mark.parametrize(
    ("fast_pct", "slow_pct", "name", "told"),
    [
        (95, 30, "device throughput", "the cache's own device was busy for 95 %"),
        (60, 30, "device latency", "the cache's own device was busy for 60 %"),
        (30, 100, "device throughput", "the device behind the cache was busy for 100 %"),
    ],
)
def test_with_a_cache_the_busier_device_is_the_one_that_is_waited_for(
    fast_pct: float, slow_pct: float, name: str, told: str, tmp_path: Path
) -> None:
    lines = {
        **QUIET,
        "database.sessions_reading": 6,
        "database.pages_read_per_s": 5000,
        "cache.read_hit_ratio": 0.99,
        "cache.fast_busy_pct": fast_pct,
        "cache.fast_queue_depth": 4,
        "storage.utilisation_pct": slow_pct,
        "storage.queue_depth": 4,
    }
    found = diagnose(evidence(tmp_path, lines))
    assert found.name == name
    [device] = [one for one in found.findings if one.name == name]
    assert any(told in text for text in device.evidence), device


def test_what_waits_on_a_load_host_does_not_wait_for_the_server_s_processors(tmp_path: Path) -> None:
    told = diagnose(evidence(tmp_path, QUIET | ON_HOSTS, hosts=2))
    [processors] = [one for one in told.findings if one.name == "CPU"]
    # The server used 4 cores for 8 sessions, and none of them waited for one.
    assert processors.share == pytest.approx(4 / 8)


def test_the_log_s_limit_is_the_server_s_own(tmp_path: Path) -> None:
    """MariaDB hurries from 7/8 of the largest age on: 80 % of it is no alarm, and 88 % is."""
    below = diagnose(evidence(tmp_path, {**QUIET, "database.checkpoint_age_bytes": 640e6}))
    assert "log limit" not in [one.name for one in below.findings]
    above = diagnose(evidence(tmp_path / "above", {**QUIET, "database.checkpoint_age_bytes": 704e6}))
    assert above.name == "log limit"


def test_a_served_device_is_no_neighbour(tmp_path: Path) -> None:
    lines = {**QUIET, "machine.others_cpu_pct": 700, "database.server_cpu_wait_pct": 400, "machine.cpu_idle_pct": 0}
    own = diagnose(evidence(tmp_path, {**lines, "machine.children_cpu_pct": 700}))
    assert "neighbour" not in [one.name for one in own.findings]
    other = diagnose(evidence(tmp_path / "other", {**lines, "machine.children_cpu_pct": 400}))
    assert "neighbour" in [one.name for one in other.findings]


def test_a_neighbour_on_the_device_is_told_by_the_bytes_that_nobody_asked_for(tmp_path: Path) -> None:
    lines = {
        **QUIET,
        "database.sessions_reading": 6,
        "database.data_read_bytes_per_s": 10e6,
        "database.data_written_bytes_per_s": 10e6,
        "storage.read_bytes_per_s": 10e6,
        "storage.write_bytes_per_s": 15e6,
    }
    alone = diagnose(evidence(tmp_path, lines))
    assert "neighbour" not in [one.name for one in alone.findings], "a file system adds writes of its own"
    beside = diagnose(evidence(tmp_path / "beside", {**lines, "storage.read_bytes_per_s": 200e6}))
    assert "neighbour" in [one.name for one in beside.findings[:2]]


def test_pages_that_are_read_for_the_first_time_are_no_misses_of_a_pool_with_room(tmp_path: Path) -> None:
    lines = {**QUIET, **AT_WORK["cache misses"], "database.pages_free": 30_000}
    names = [one.name for one in diagnose(evidence(tmp_path, lines)).findings]
    assert "cache misses" not in names
    assert "device latency" in names


@pytest.mark.parametrize("variant", ["tpcc-mysql", "sysbench-tpcc", "tproc-c"])
def test_the_cost_of_misses_is_told_only_where_statements_were_measured(tmp_path: Path, variant: str) -> None:
    """A call of TPROC-C's procedures is one statement, and nobody measured what it costs."""
    lines = {**QUIET, **AT_WORK["cache misses"], "workload.queries_per_s": 10_000}
    tables = {**SERVER, "workload": {"kind": "tpcc", "variant": variant}}
    found = diagnose(evidence(tmp_path, lines, tables)).findings[0]
    assert found.name == "cache misses", "the sessions that wait for reads are seen in each"
    assert any("server's processor time" in one for one in found.evidence) == (variant == "tpcc-mysql")


def test_commits_that_do_not_wait_for_a_sync_are_no_fsync_path(tmp_path: Path) -> None:
    settings = {"innodb_flush_log_at_trx_commit": 2}
    tables = {**SERVER, "database": {"kind": "server", "settings": settings}}
    told = diagnose(evidence(tmp_path, {**QUIET, **AT_WORK["fsync path"]}, tables))
    assert "fsync path" not in [one.name for one in told.findings]


def test_commits_that_wait_for_the_binary_log_are_told_by_its_groups(tmp_path: Path) -> None:
    """MariaDB writes the redo log for each commit too, but syncs only the binary log."""
    settings = {"innodb_flush_log_at_trx_commit": 2, "log_bin": True, "sync_binlog": 1}
    tables = {**SERVER, "database": {"kind": "server", "settings": settings}}
    lines = {**QUIET, **AT_WORK["fsync path"], "database.log_writes_per_s": 1000, "database.data_fsyncs_per_s": 0}
    told = diagnose(evidence(tmp_path, {**lines, "database.binlog_groups_per_s": 200}, tables))
    assert told.name == "fsync path"
    assert any("200 syncs of the binary log a second" in line for line in told.findings[0].evidence)
    unknown = diagnose(evidence(tmp_path / "unknown", lines, tables))
    assert "fsync path" not in [one.name for one in unknown.findings], "writes of the redo log are no syncs"


def test_a_collector_that_slows_the_pages_for_which_sessions_wait_is_named(tmp_path: Path) -> None:
    """Sessions wait for room in the log, and the log for pages that a card's collector keeps waiting."""
    lines = {**QUIET, "storage.gc_share_pct": 40}
    assert "garbage collection" not in [one.name for one in diagnose(evidence(tmp_path, lines)).findings]
    at_limit = {**lines, **AT_WORK["log limit"]}
    names = [one.name for one in diagnose(evidence(tmp_path / "limit", at_limit)).findings]
    assert names == ["log limit", "CPU", "garbage collection"]
    # With most of the time it is the cause: a larger log would only fill more slowly.
    most = {**at_limit, "storage.gc_share_pct": 60}
    names = [one.name for one in diagnose(evidence(tmp_path / "most", most)).findings[:2]]
    assert names == ["garbage collection", "log limit"]


def test_the_syncs_of_commits_are_not_told_twice(tmp_path: Path) -> None:
    names = [one.name for one in diagnose(evidence(tmp_path, {**QUIET, **AT_WORK["fsync path"]})).findings]
    assert "fsync path" in names
    assert "device latency" not in names


def test_a_rate_that_is_not_kept_is_told_by_the_sessions_that_there_are(tmp_path: Path) -> None:
    tables = {**SERVER, "workload": {"kind": "tpcc", "connections": 8, "rate_per_s": 9000}}
    lines = {**QUIET, **AT_WORK["fsync path"], "workload.in_flight": 5000}
    assert diagnose(evidence(tmp_path, lines, tables)).name == "fsync path"


def test_a_rate_that_was_served_is_bound_by_nothing(tmp_path: Path) -> None:
    tables = {**SERVER, "workload": {"kind": "tpcc", "connections": 8, "rate_per_s": 1000}}
    told = diagnose(evidence(tmp_path, {**QUIET, "workload.in_flight": 2}, tables))
    assert (told.name, told.others) == ("nothing", ())
    assert told.text == "Bound by nothing: the load asked for was served."
    tables = {**SERVER, "workload": {"kind": "tpcc", "connections": 8, "rate_per_s": 2000}}
    assert diagnose(evidence(tmp_path / "more", QUIET, tables)).name == "CPU"


def test_a_run_without_any_request_served_nothing(tmp_path: Path) -> None:
    tables = {**SERVER, "workload": {"kind": "tpcc", "connections": 8, "rate_per_s": 0.1}}
    told = diagnose(evidence(tmp_path, {**QUIET, "workload.ops_per_s": 0, "workload.in_flight": 0}, tables))
    assert (told.name, told.main, told.others) == ("not told", None, ())
    assert told.text == "Not told what bounded it: no request ended while it was measured."


def test_no_session_is_in_a_read_and_in_a_commit_at_once(tmp_path: Path) -> None:
    busy = {**QUIET, **AT_WORK["fsync path"], "database.sessions_reading": 7, "database.pages_read_per_s": 500}
    told = {one.name: one.share for one in diagnose(evidence(tmp_path, busy)).findings}
    assert told["fsync path"] > 0.3 and told["device latency"] > 0.3
    assert told["fsync path"] + told["device latency"] <= 1.0


def test_waits_for_the_log_buffer_are_told_by_the_time_of_a_write(tmp_path: Path) -> None:
    waits = {**QUIET, "database.log_waits_per_s": 900, "storage.write_await_us": 4000}
    found = next(one for one in diagnose(evidence(tmp_path, waits)).findings if one.name == "fsync path")
    assert found.evidence[0] == "3.6 of 8 sessions waited for room in the log buffer"


def test_too_short_a_run_is_not_told(tmp_path: Path) -> None:
    told = diagnose(evidence(tmp_path, QUIET, seconds=9))
    assert (told.name, told.main) == ("not told", None)
    assert "9 intervals were measured" in told.text


def test_bytes_of_one_direction_are_told_as_such(tmp_path: Path) -> None:
    """A modelled card counts what is written only: its bytes are not those of reads and writes together."""
    written = {"storage.utilisation_pct": 99, "storage.queue_depth": 30, "storage.host_written_bytes_per_s": 2**20}
    lines = {name: value for name, value in QUIET.items() if not re.match(r"storage\.(read|write)_bytes", name)}
    (found,) = [
        one for one in diagnose(evidence(tmp_path, lines | written)).findings if one.name == "device throughput"
    ]
    assert "1 MiB a second were written" in found.evidence[-1]
    both = {"storage.read_bytes_per_s": 2**20, "storage.write_bytes_per_s": 2**20}
    told = diagnose(evidence(tmp_path / "both", lines | AT_WORK["device throughput"] | both)).findings
    (found,) = [one for one in told if one.name == "device throughput"]
    assert found.evidence[-1].endswith("2 MiB a second")


def test_small_shares_are_not_told_and_none_is_made_up(tmp_path: Path) -> None:
    assert found("CPU", LISTED_MIN - 0.01, "time", "x") is None
    assert found("CPU", float("nan"), "time", "x") is None
    small = Finding("CPU", MAIN_MIN - 0.01, "time", ("x",))
    quiet = evidence(tmp_path, QUIET)
    assert decide(quiet, [lambda _: small]).name == "not told"
    assert decide(quiet, [lambda _: small]).others == (small,)
    assert decide(quiet, []).text.startswith("Not told what bounded it: ")


def test_of_equal_shares_the_cause_stands_first(tmp_path: Path) -> None:
    first, second = Finding("log limit", 0.5, "seconds", ()), Finding("CPU", 0.5, "time", ())
    quiet = evidence(tmp_path, QUIET)
    assert decide(quiet, [lambda _: first, lambda _: second]).name == "log limit"
    assert decide(quiet, [lambda _: second, lambda _: first]).name == "CPU"


@pytest.mark.parametrize(
    ("full", "ranked"),
    [
        (1.0, ["device throughput", "cache misses", "dirty limit", "CPU"]),
        (0.5, ["dirty limit", "cache misses", "device throughput", "CPU"]),
    ],
)
def test_what_sessions_wait_for_stands_before_a_limit_that_a_full_device_keeps(
    tmp_path: Path, full: float, ranked: list[str]
) -> None:
    found = [
        Finding("dirty limit", 0.9, "seconds", ()),
        Finding("device throughput", full, "seconds", ()),
        Finding("cache misses", 0.8, "time", ()),
        Finding("CPU", 0.1, "time", ()),
    ]
    told = decide(evidence(tmp_path, QUIET), [lambda _, one=one: one for one in found])
    assert [one.name for one in told.findings] == ranked


def test_the_page_has_every_bound_in_the_registry_s_order() -> None:
    page = (Path(__file__).parents[3] / "docs" / "diagnosis.md").read_text()
    rows = re.findall(r"^\| \*\*([^*]+)\*\* \|", page, re.MULTILINE)
    assert set(rows) == set(get_args(Name))
    assert [row.replace(" ", "_").lower() for row in rows] == [find.__module__.rpartition(".")[2] for find in BOUNDS]


@pytest.mark.parametrize(
    ("workload", "timed", "committing"),
    [
        ({"kind": "tpcc", "warehouses": 1}, 5e6, 5.0),
        ({"kind": "oltp", "mode": "read_write"}, 5e6, 5.0),
        # The COMMIT of who has only read waits for no log.
        ({"kind": "oltp", "mode": "read_only"}, 5e6, 0.0),
    ],
)
def test_commits_that_were_timed(workload: dict[str, Any], timed: float, committing: float, tmp_path: Path) -> None:
    tables = {**SERVER, "workload": workload}
    lines = {**QUIET, "workload.commit_us_per_s": timed, "workload.ops_per_s": 100}
    time = session_time(evidence(tmp_path, lines, tables))
    assert time is not None and time.committing == pytest.approx(committing)


def test_commits_without_a_statement_of_their_own_are_estimated_beside_those_that_were_timed(tmp_path: Path) -> None:
    """A few COMMITs of readers hide none of the commits that each changing statement makes by itself."""
    change = {"weight": 9, "autocommit": True, "statements": ["UPDATE t SET a = 1"]}
    look = {"weight": 1, "statements": ["SELECT a FROM t"]}
    workload = {"kind": "sql", "transactions": {"change": change, "look": look}}
    lines = {**QUIET, **AT_WORK["fsync path"], "workload.ops_per_s": 1000}
    told = {
        timed: session_time(
            evidence(
                tmp_path / str(timed), {**lines, "workload.commit_us_per_s": timed}, {**SERVER, "workload": workload}
            )
        )
        for timed in (0.0, 5e4)
    }
    assert told[0.0] is not None and told[5e4] is not None
    assert told[0.0].committing and told[5e4].committing == pytest.approx(told[0.0].committing)
