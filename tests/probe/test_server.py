from __future__ import annotations

import gc
import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from waiting import until

from flatwater._engine import Connection
from flatwater.engine_json import to_json
from flatwater.errors import UserError
from flatwater.probe.server import ServerProbe
from flatwater.probe.server.limit import age_max_bytes
from flatwater.probe.server.names import Names, find_names, parse_monitor
from flatwater.probe.server.probe import _interval, series
from flatwater.probe.server.watch import Reading
from flatwater.server import Binary, Instance, find_server

MIB = 2**20
#: What MariaDB 10.5 and later tell without anything being switched on.
TOLD = {
    "checkpoint_age_bytes", "checkpoint_age_max_bytes", "dirty_pct", "dirty_pages", "pages_flushed_per_s",
    "pages_flushed_lru_per_s", "pages_read_per_s", "pages_read_ahead_per_s", "read_requests_per_s", "hit_ratio",
    "free_page_waits_per_s", "log_waits_per_s", "log_bytes_per_s", "log_writes_per_s",
    "doublewrite_pages_per_s", "doublewrite_writes_per_s",
    "history_length", "row_lock_waits_per_s", "row_lock_time_pct", "threads_running", "threads_connected",
    "data_reads_per_s", "data_writes_per_s", "data_read_bytes_per_s", "data_written_bytes_per_s", "data_fsyncs_per_s",
    "queries_per_s", "server_cpu_user_pct", "server_cpu_system_pct", "server_rss_bytes", "pages_data", "pages_free",
}  # fmt: skip
#: What depends on the kernel, and on the right to look at another process; and what only some servers count.
MAY_TELL = {
    "server_cpu_wait_pct", "sessions_reading", "sessions_syncing", "sessions_waiting", "threads_syncing",
    "log_fsyncs_per_s", "binlog_groups_per_s", "pages_misc",
}  # fmt: skip
REASONS = {f"database.pages_flushed_{reason}_per_s" for reason in ("adaptive", "sync", "background")}


@pytest.fixture(scope="session")
def binary() -> Binary:
    try:
        return find_server()
    except UserError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def empty_data(binary: Binary, tmp_path_factory: pytest.TempPathFactory) -> Path:
    with Instance(binary, tmp_path_factory.mktemp("empty"), {"innodb_log_file_size": "16M"}) as instance:
        instance.initialise()
        return instance.data


@pytest.fixture
def servers(binary: Binary, empty_data: Path, tmp_path: Path) -> Iterator[Callable[[], Instance]]:
    """`servers()` starts one more server with a small pool and a small log."""
    with ExitStack() as made:

        def start() -> Instance:
            folder = tmp_path / str(len(list(tmp_path.iterdir())))
            settings = {"innodb_buffer_pool_size": "16M", "innodb_log_file_size": "16M"}
            instance = made.enter_context(Instance(binary, folder, settings))
            shutil.copytree(empty_data, instance.data)
            instance.start()
            return instance

        yield start


@pytest.fixture
def probe_of() -> Iterator[Callable[..., ServerProbe]]:
    with ExitStack() as made:

        def start(*instances: Instance, own: bool = False) -> ServerProbe:
            logins = [lambda one=one: to_json(one.login()) for one in instances]
            probe = ServerProbe(logins, lambda: [one.pid for one in instances], own=own)
            made.callback(probe.close)
            return probe

        yield start


@pytest.fixture
def busy() -> Iterator[Callable[[Instance], None]]:
    """`busy(instance)` writes and reads until the test ends."""
    ended = threading.Event()
    threads: list[threading.Thread] = []

    def work(login: str) -> None:
        connection = Connection(login)
        connection.query("CREATE DATABASE IF NOT EXISTS t")
        connection.query("CREATE OR REPLACE TABLE t.a (id INT PRIMARY KEY AUTO_INCREMENT, k INT, c CHAR(255), KEY (k))")
        # Four times the pool.
        for first in range(0, 200_000, 2000):
            rows = ", ".join(f"({(first + row) * 7919 % 100_003}, 'x')" for row in range(2000))
            connection.query(f"INSERT INTO t.a (k, c) VALUES {rows}")
            if ended.is_set():
                break
        turn = 0
        while not ended.is_set():
            turn += 1
            first = turn * 7919 % 200_000
            connection.query(f"UPDATE t.a SET k = k + 1 WHERE id BETWEEN {first} AND {first + 50}")
        connection.close()

    def start(instance: Instance) -> None:
        threads.append(threading.Thread(target=work, args=(to_json(instance.login()),)))
        threads[-1].start()

    yield start
    ended.set()
    for thread in threads:
        thread.join()


Servers = Callable[[], Instance]
ProbeOf = Callable[..., ServerProbe]


def after(probe: ServerProbe, seconds: float = 0.5) -> dict[str, float]:
    time.sleep(seconds)
    return probe.sample()


def told_by(probe: ServerProbe, *names: str) -> dict[str, float]:
    """The first sample that tells these series: on a busy machine, an answer may be late."""
    told: dict[str, float] = {}

    def complete() -> bool:
        nonlocal told
        told = after(probe, 0.3)
        return all(f"database.{name}" in told for name in names)

    until(complete, f"{names} are told")
    return told


def test_what_a_busy_server_tells(servers: Servers, probe_of: ProbeOf, busy: Callable[[Instance], None]) -> None:
    server = servers()
    probe = probe_of(server, own=True)
    busy(server)
    told: dict[str, float] = {}

    def evicts() -> bool:
        nonlocal told
        told = after(probe)
        return told.get("database.pages_read_per_s", 0) > 0 and told.get("database.pages_flushed_per_s", 0) > 100

    until(evicts, "the table outgrows the pool")
    assert {name.removeprefix("database.") for name in told} - TOLD - MAY_TELL == {
        name.removeprefix("database.") for name in REASONS
    }
    assert not {f"database.{name}" for name in TOLD} - told.keys()
    assert 0 < told["database.checkpoint_age_bytes"] <= told["database.checkpoint_age_max_bytes"] < 16 * MIB
    assert 0 < told["database.dirty_pct"] <= 100
    assert 0 < told["database.hit_ratio"] < 1
    assert told["database.log_bytes_per_s"] > 0
    assert told["database.threads_running"] >= 0 and told["database.threads_connected"] >= 1
    assert told["database.server_rss_bytes"] > 16 * MIB
    assert told["database.server_cpu_user_pct"] + told["database.server_cpu_system_pct"] > 0
    assert all(value >= 0 for value in told.values())
    # Every page is flushed for one reason, though not all are counted at the same moment.
    reasons = sum(told[name] for name in (*REASONS, "database.pages_flushed_lru_per_s"))
    assert reasons == pytest.approx(told["database.pages_flushed_per_s"], rel=0.3)


def test_nothing_is_changed_in_a_server_of_others(servers: Servers, probe_of: ProbeOf) -> None:
    server = servers()
    question = "SELECT name, enabled FROM information_schema.INNODB_METRICS"
    before = server.query(question)
    told = told_by(probe_of(server), "pages_flushed_per_s")
    assert server.query(question) == before
    assert not REASONS & told.keys()
    told_by(probe_of(server, own=True), "pages_flushed_sync_per_s")
    assert server.query(question) != before


def test_a_frozen_server_keeps_nobody_waiting(servers: Servers, probe_of: ProbeOf) -> None:
    server = servers()
    probe = probe_of(server)
    told_by(probe, "queries_per_s")
    server.freeze()
    # A late answer may still be told.
    after(probe, 0.3)
    while_frozen = [after(probe, 0.3) for _ in range(4)]
    server.thaw()
    # Its process is there all the time.
    for told in while_frozen:
        assert {name for name in told if "server_" not in name} == set()
    first: dict[str, float] = {}

    def told_again() -> bool:
        nonlocal first
        first = after(probe, 0.2)
        return "database.dirty_pages" in first

    until(told_again, "it answers after the thaw")
    assert "database.queries_per_s" not in first, "a rate over the time in which it was frozen"
    until(lambda: "database.queries_per_s" in after(probe, 0.2), "rates are told again")


def test_a_killed_server_comes_back_with_another_login(servers: Servers) -> None:
    server = servers()
    logins = [server.login()]
    probe = ServerProbe([lambda: to_json(logins[-1])], lambda: [server.pid], own=True)
    told_by(probe, *(name.removeprefix("database.") for name in REASONS))
    server.kill()
    after(probe, 0.3)
    assert [after(probe, 0.2) for _ in range(3)] == [{}] * 3
    server.start()
    server.query("CREATE USER other IDENTIFIED BY 'changed'")
    server.query("GRANT ALL ON *.* TO other")
    logins.append(replace(server.login(), user="other", password="changed"))
    told: list[dict[str, float]] = []

    def told_again() -> bool:
        told.append(after(probe, 0.2))
        return told[-1].keys() >= REASONS

    until(told_again, "it is asked again, and its counters are on again")
    assert all(value >= 0 for one in told for value in one.values())
    until(lambda: ("other",) in server.query("SELECT user FROM information_schema.PROCESSLIST"), "the new login")
    probe.close()


def test_several_servers_are_summed_and_told_apart(servers: Servers, probe_of: ProbeOf) -> None:
    one, other = servers(), servers()
    probe = probe_of(one, other)
    one.query("CREATE DATABASE t")
    one.query("CREATE TABLE t.a (id INT PRIMARY KEY) SELECT 1 AS id")
    told = told_by(probe, "queries_per_s", "instance0_pages_flushed_per_s", "instance1_pages_flushed_per_s")
    for name in ("checkpoint_age_bytes", "pages_flushed_per_s"):
        parts = [told[f"database.instance{number}_{name}"] for number in (0, 1)]
        assert told[f"database.{name}"] == pytest.approx(sum(parts))
    shares = [told[f"database.instance{number}_dirty_pct"] for number in (0, 1)]
    assert min(shares) - 0.1 <= told["database.dirty_pct"] <= max(shares) + 0.1
    alone = told_by(probe_of(one), "checkpoint_age_max_bytes")
    assert told["database.checkpoint_age_max_bytes"] == 2 * alone["database.checkpoint_age_max_bytes"]
    other.kill()
    until(lambda: "database.instance1_dirty_pct" not in after(probe, 0.2), "the second is dead")
    told = told_by(probe, "instance0_dirty_pct")
    assert "database.dirty_pct" not in told, "a sum without the second"


def test_a_server_that_was_never_there(tmp_path: Path) -> None:
    login = {"address": {"socket": str(tmp_path / "none")}, "user": "u", "password": "", "schema": None}
    probe = ServerProbe([json.dumps(login)])
    assert [after(probe, 0.1) for _ in range(3)] == [{}] * 3
    probe.close()


@pytest.mark.parametrize("dropped", [False, True])
def test_it_leaves_no_thread_and_no_session(servers: Servers, dropped: bool) -> None:
    server = servers()
    probe: ServerProbe | None = ServerProbe([to_json(server.login())])
    assert probe is not None

    def sessions() -> int:
        return len(server.query("SHOW PROCESSLIST"))

    before = sessions()
    if dropped:
        del probe
        gc.collect()
    else:
        probe.close()
        probe.close()
    until(lambda: sessions() == before - 1, "the session is over")
    until(lambda: "server-probe" not in [thread.name for thread in threading.enumerate()], "the thread is over")


def test_the_monitor_tells_what_status_does(servers: Servers) -> None:
    server = servers()
    connection = Connection(to_json(server.login()))
    by_status = Names(
        {"innodb_lsn_current": "lsn", "innodb_lsn_last_checkpoint": "checkpoint_lsn"}, {}, frozenset(), {}
    )
    by_text = Names({"threads_running": "threads_running"}, {}, frozenset({"lsn", "checkpoint_lsn"}), {})
    # An idle server writes a few bytes now and then.
    a, b, c = by_status.read(connection), by_text.read(connection), by_status.read(connection)
    assert a["lsn"] <= b["lsn"] <= c["lsn"]
    assert a["checkpoint_lsn"] <= b["checkpoint_lsn"] <= c["checkpoint_lsn"]
    assert b["age"] == b["lsn"] - b["checkpoint_lsn"]
    connection.close()


def test_the_rule_for_files_is_what_a_server_tells(servers: Servers, probe_of: ProbeOf) -> None:
    """MariaDB 10.11 has one file and tells its limit; only its header is larger than it was."""
    server = servers()
    variables = {name: value for name, value in server.variables().items() if name.startswith("innodb_")}
    told = told_by(probe_of(server), "checkpoint_age_max_bytes")["database.checkpoint_age_max_bytes"]
    computed = age_max_bytes(variables | {"innodb_log_files_in_group": "1", "innodb_thread_concurrency": "0"})
    assert computed == pytest.approx(told, rel=0.002)


@pytest.mark.parametrize(
    ("variables", "capacity", "limit_mib"),
    [
        # MySQL 5.5 with two files of 2000 MiB: by hand from its source.
        ({"innodb_log_file_size": str(2000 * MIB), "innodb_log_files_in_group": "2"}, None, 3239),
        # MySQL 8.0.30: users stop at about 0.84 of the capacity.
        ({"innodb_redo_log_capacity": str(1024 * MIB)}, None, 0.843 * 1024),
        # While it is being resized, what it has counts.
        ({"innodb_redo_log_capacity": str(8192 * MIB)}, 1024.0 * MIB, 0.843 * 1024),
        ({}, None, None),
    ],
)
def test_the_limit_by_rule(variables: dict[str, str], capacity: float | None, limit_mib: float | None) -> None:
    found = age_max_bytes(variables, capacity)
    if limit_mib is None:
        assert found is None
    else:
        assert found is not None and found / MIB == pytest.approx(limit_mib, rel=0.005)


def test_8_0_before_8_0_30_has_the_files_of_5_7_and_a_limit_of_its_own() -> None:
    files = {"innodb_log_file_size": str(48 * MIB), "innodb_log_files_in_group": "2"}
    of_8 = age_max_bytes(files | {"innodb_log_spin_cpu_abs_lwm": "80"})
    of_5_7 = age_max_bytes(files)
    # By hand: 96 MiB less two headers; a tenth never used; 5 % for the writer; 48 pages and 5 % for the threads.
    usable = 2 * (48 * MIB - 2048)
    assert of_8 == pytest.approx(0.9 * usable * 0.9 - 48 * 16384)
    # A large log loses at most 256 times what a thread may need: less than 5.7's two tenths.
    large = files | {"innodb_log_file_size": str(4096 * MIB)}
    assert age_max_bytes(large | {"innodb_log_spin_cpu_abs_lwm": "80"}) > 0.89 * 8192 * MIB  # type: ignore[operator]
    assert of_5_7 is not None and of_8 is not None and of_5_7 != of_8
    # As many threads as that are half of what the log writer has, at most.
    crowded = files | {"innodb_log_spin_cpu_abs_lwm": "80", "innodb_thread_concurrency": "1000"}
    assert age_max_bytes(crowded) == pytest.approx(0.9 * usable * 0.45)


def test_no_rule_is_guessed() -> None:
    """A server whose files are not told has no limit."""
    assert age_max_bytes({"innodb_log_spin_cpu_abs_lwm": "80", "innodb_log_file_size": str(48 * MIB)}) is None


class _Old:
    """A server that tells what a MySQL 5.5.9 did after it had written 22004 pages."""

    TOLD: ClassVar = {"Innodb_buffer_pool_pages_flushed": "44008", "Innodb_pages_written": "22004"}

    def __init__(self, without: str = "") -> None:
        self._told = [(name, value) for name, value in self.TOLD.items() if name != without]

    def query(self, sql: str) -> list[tuple[str | None, ...]]:
        if sql.startswith("SHOW GLOBAL STATUS"):
            return [row for row in self._told if "Variable_name IN" not in sql or f"'{row[0].lower()}'" in sql]
        return []


def test_a_page_that_is_written_counts_once() -> None:
    """MySQL 5.5 counts it twice where later servers count it once."""
    for without, pages in (("", 22004.0), ("Innodb_pages_written", 44008.0)):
        connection: Any = _Old(without)
        assert find_names(connection, own=True).read(connection) == {"flushed": pages}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "LOG\nLog sequence number          30171217\nLog flushed up to 0\nLast checkpoint at           30170000\n",
            {"lsn": 30171217.0, "checkpoint_lsn": 30170000.0},
        ),
        (
            "Log sequence number 3 1000\nLast checkpoint at  2 4294967295\nHistory list length 12\n",
            {"lsn": 3 * 2**32 + 1000.0, "checkpoint_lsn": 3 * 2**32 - 1.0, "history": 12.0},
        ),
        ("nothing of this", {}),
    ],
)
def test_the_text_of_the_monitor(text: str, found: dict[str, float]) -> None:
    assert parse_monitor(text) == found


def test_an_age_is_what_lies_behind_the_checkpoint() -> None:
    class Server:
        def query(self, sql: str) -> list[tuple[str | None, ...]]:
            return [("Innodb_lsn_current", "30171217"), ("Innodb_lsn_last_checkpoint", "30170000")]

    connection: Any = Server()
    names = Names({"innodb_lsn_current": "lsn", "innodb_lsn_last_checkpoint": "checkpoint_lsn"}, {}, frozenset(), {})
    assert names.read(connection)["age"] == 1217.0


def test_a_counter_that_jumps_back_has_no_rate() -> None:
    before = Reading(10.0, 1, {"flushed": 500.0, "read": 10.0, "dirty": 7.0})
    told = _interval(before, Reading(12.0, 1, {"flushed": 3.0, "read": 30.0, "dirty": 9.0, "queries": 5.0}))
    assert told is not None
    assert series([told]) == {"pages_read_per_s": 10.0, "dirty_pages": 9.0}
    # Nor has any counter of another session.
    told = _interval(before, Reading(12.0, 2, {"flushed": 900.0, "dirty": 9.0}))
    assert told is not None
    assert series([told]) == {"dirty_pages": 9.0}
    assert _interval(before, None) is None


def test_shares_are_of_sums() -> None:
    one = ({"dirty": 10.0, "data": 90.0, "free": 9.0}, {"read_requests": 1000.0, "misses": 100.0})
    other = ({"dirty": 60.0, "data": 60.0, "free": 40.0}, {"read_requests": 3000.0, "misses": 0.0})
    found = series([one, other])
    assert found["dirty_pct"] == pytest.approx(100 * 70 / 200)
    assert found["hit_ratio"] == pytest.approx(1 - 100 / 4000)
    # A process of its own: this one.
    assert ServerProbe([], [os.getpid()]).sample()["database.server_rss_bytes"] > MIB
