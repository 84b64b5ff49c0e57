"""Where the figures of a server are, and how often the costly places are asked: on servers of the test's own words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import cast

import pytest

from flatwater._engine import Connection, EngineError
from flatwater.probe.server.names import find_names
from flatwater.probe.server.probe import _interval, series
from flatwater.probe.server.spacing import PERIOD_MAX_S, SHARE_MAX
from flatwater.probe.server.watch import Reading, Watch

MONITOR = "Log sequence number {lsn}\nLast checkpoint at {checkpoint}\nHistory list length 12\n"
Row = tuple[str | None, ...]


@dataclass
class Server:
    """Answers the questions of `find_names` and of a reading. `clock` goes on by what each takes."""

    status: Mapping[str, str] = field(default_factory=dict)
    #: Counter of INNODB_METRICS -> whether it counts, and how far it is.
    counters: dict[str, tuple[bool, int]] = field(default_factory=dict)
    lsn: int = 1000
    event_scheduler: str = "OFF"
    replicating: int = 0
    monitor_s: float = 0.0
    way_s: float = 0.0
    clock: float = 100.0
    columns: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def query(self, sql: str) -> list[Row]:
        self.asked.append(sql)
        self.clock += self.way_s
        if sql.startswith("SHOW GLOBAL STATUS"):
            self.columns = ["Variable_name", "Value"]
            return [row for row in self.status.items() if " IN (" not in sql or f"'{row[0].lower()}'" in sql]
        if sql.startswith("SELECT * FROM information_schema.INNODB_METRICS"):
            self.columns = ["NAME", "COUNT", "STATUS"]
            return [(name, str(at), "enabled" if on else "disabled") for name, (on, at) in self.counters.items()]
        if sql.startswith("SELECT name, count FROM information_schema.INNODB_METRICS"):
            return [(name, str(at)) for name, (_, at) in self.counters.items() if f"'{name.lower()}'" in sql]
        if found := re.fullmatch(r"SET GLOBAL innodb_monitor_enable = '(\w+)'", sql):
            for name, (_, at) in self.counters.items():
                if name.lower() == found[1]:
                    self.counters[name] = True, at
            return []
        if sql == "SHOW ENGINE INNODB STATUS":
            self.clock += self.monitor_s
            return [("InnoDB", "", MONITOR.format(lsn=self.lsn, checkpoint=self.lsn - 300))]
        if sql == "SELECT 1":
            return [("1",)]
        if sql == "SHOW GLOBAL VARIABLES LIKE 'event_scheduler'":
            return [("event_scheduler", self.event_scheduler)]
        if "information_schema.PROCESSLIST" in sql:
            return [(str(self.replicating),)]
        if sql.startswith("SHOW GLOBAL VARIABLES"):
            return []
        raise EngineError("not known here")

    def close(self) -> None:
        """Nothing is open."""


def found_in(server: Server, *, own: bool = False) -> tuple[dict[str, float], set[str]]:
    """What is read, and what is told to be missing."""
    names = find_names(cast(Connection, server), own=own)
    return names.read(cast(Connection, server)), {name for gap in names.gaps for name in gap.figures}


@pytest.mark.parametrize(
    "counter",
    [
        "buffer_LRU_batch_flush_total_pages",  # MySQL 5.7 and later, MariaDB
        "buffer_LRU_batch_total_pages",  # MySQL 5.6: "Total pages flushed as part of LRU batches"
    ],
)
def test_pages_flushed_for_free_pages_are_found_under_each_name(counter: str) -> None:
    figure = "database.pages_flushed_lru_per_s"
    read, missing = found_in(Server(counters={counter: (False, 77)}), own=True)
    assert read["flushed_lru"] == 77 and figure not in missing
    # In a server of others nothing is switched on: it is told what would.
    server = Server(counters={counter: (False, 77)})
    read, missing = found_in(server)
    assert "flushed_lru" not in read and figure in missing
    (gap,) = [gap for gap in find_names(cast(Connection, server), own=False).gaps if figure in gap.figures]
    assert f"innodb_monitor_enable = '{counter.lower()}'" in gap.remedy
    assert not [sql for sql in server.asked if sql.startswith("SET")]


def test_of_two_names_the_newer_counts() -> None:
    counters = {"buffer_LRU_batch_total_pages": (True, 1), "buffer_LRU_batch_flush_total_pages": (True, 2)}
    assert found_in(Server(counters=counters))[0]["flushed_lru"] == 2


LSN = {"log_lsn_current": (True, 5000), "log_lsn_last_checkpoint": (True, 4000), "trx_rseg_history_len": (True, 3)}


@pytest.mark.parametrize(
    ("server", "age", "history"),
    [
        (Server(counters=dict(LSN)), 1000, 3),
        (Server(counters={**LSN, "log_lsn_checkpoint_age": (True, 900)}), 1000, 3),
        (Server(counters={"log_lsn_checkpoint_age": (True, 900), "trx_rseg_history_len": (True, 3)}), 900, 3),
        (Server({"Innodb_checkpoint_age": "800", "Innodb_history_list_length": "4"}), 800, 4),
    ],
)
def test_the_monitor_is_not_asked_for_what_is_elsewhere(server: Server, age: float, history: float) -> None:
    read, missing = found_in(server)
    assert (read["age"], read["history"]) == (age, history) and "database.checkpoint_age_bytes" not in missing
    assert "SHOW ENGINE INNODB STATUS" not in server.asked


def test_counters_that_are_off_leave_the_monitor() -> None:
    server = Server(counters={name: (False, at) for name, (_, at) in LSN.items()})
    read, missing = found_in(server)
    assert (read["age"], read["history"]) == (300, 12) and not missing & {"database.checkpoint_age_bytes"}
    assert server.asked.count("SHOW ENGINE INNODB STATUS") == 2


class Watching:
    """A watch whose thread is this one."""

    def __init__(self, server: Server, monkeypatch: pytest.MonkeyPatch, *, spared: bool) -> None:
        monkeypatch.setattr("flatwater.probe.server.watch.Connection", lambda *_: server)
        monkeypatch.setattr("flatwater.probe.server.watch.threading.Thread.start", lambda _: None)
        monkeypatch.setattr("flatwater.probe.server.watch.time.monotonic", lambda: server.clock)
        self.server = server
        self.watch = Watch("{}", own=not spared, spared=spared)  # type: ignore[arg-type]

    def seconds(self, number: int) -> list[Reading]:
        """The readings of so many seconds, in each of which a hundred bytes are logged."""
        found, due = [], self.server.clock
        for _ in range(number):
            self.server.clock = due = max(self.server.clock, due)
            due += 1
            self.server.lsn = 1000 + round(100 * self.server.clock)
            reading = self.watch._read()
            assert reading is not None
            found.append(reading)
        return found


def asked(server: Server) -> int:
    return server.asked.count("SHOW ENGINE INNODB STATUS")


def test_the_longer_the_monitor_takes_the_rarer_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server({"Innodb_os_log_written": "1"}, monitor_s=0.02)
    watching = Watching(server, monkeypatch, spared=True)
    readings = watching.seconds(101)
    # One for the names, then one every ten seconds.
    assert asked(server) == pytest.approx(1 + 100 * SHARE_MAX / 0.02, abs=2)
    told = [reading for reading in readings if "age" in reading.figures]
    assert {reading.figures["age"] for reading in told} == {300} and len(told) == asked(server) - 1
    # The log's rate is that between two LSNs, and never another counter's in between.
    rates = [series([one]) for pair in pairwise(readings) if (one := _interval(*pair))]
    logged = [one["log_bytes_per_s"] for one in rates if "log_bytes_per_s" in one]
    assert len(logged) == len(told) - 1 and logged == pytest.approx([100] * len(logged), rel=0.01)
    # What was sent for each is counted: the server counts it, too.
    assert readings[-1].asked == len(readings) + len(told)


def test_a_monitor_that_answers_at_once_is_asked_every_second(monkeypatch: pytest.MonkeyPatch) -> None:
    # The way to the server is no time of the server's.
    server = Server(monitor_s=0.0005, way_s=0.2)
    assert all("age" in one.figures for one in Watching(server, monkeypatch, spared=True).seconds(20))


def test_there_is_a_longest_distance(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(monitor_s=5.0)
    Watching(server, monkeypatch, spared=True).seconds(600)
    assert 600 / PERIOD_MAX_S - 2 <= asked(server) <= 600 / PERIOD_MAX_S + 2


def test_a_server_of_flatwaters_own_is_asked_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(monitor_s=0.02)
    assert all("age" in one.figures for one in Watching(server, monkeypatch, spared=False).seconds(20))


@pytest.mark.parametrize(
    ("scheduler", "told", "running"),
    # The last one does not count its scheduler, as MariaDB 10.2.
    [("OFF", 1, 1), ("OFF", 5, 5), ("ON", 2, 1), ("ON", 5, 4), ("DISABLED", 2, 2), ("ON", 1, 1)],
)
def test_the_event_scheduler_is_no_session_in_a_statement(scheduler: str, told: int, running: int) -> None:
    for replicating in (0, 3):
        status = {"Threads_running": str(told + replicating)}
        server = Server(status, event_scheduler=scheduler, replicating=replicating)
        assert found_in(server)[0]["threads_running"] == running
