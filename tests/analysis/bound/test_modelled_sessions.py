"""Where the time of a modelled server's sessions goes: the model records it, and each place has its bound."""

from __future__ import annotations

import sys
from dataclasses import fields, replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "advise"))
from cases import case, database, device, experiment, load, machine

from flatwater.analysis.bound import Evidence, diagnose
from flatwater.analysis.bound.evidence import Database, Layers
from flatwater.analysis.bound.processors import processors
from flatwater.analysis.bound.redo import RedoLimits
from flatwater.analysis.bound.sessions import session_time

EXPERIMENT = """
[workload]
kind = "tpcc"
warehouses = 20
connections = 16
[database]
kind = "innodb-model"
generation = "mysql-5.7"
machine = "cisco-ucs-c250"
[storage]
kind = "ssd"
device = "intel-x25-m"
"""
#: The bound that is named where most sessions are in a place. Room in the log and free pages are the limits of the
#: server that other series tell, too.
BOUNDS = {
    "sessions_running": "CPU",
    "sessions_in_cpu_queue": "CPU",
    "sessions_in_mutexes": "contention",
    "sessions_in_page_latches": "contention",
    "sessions_in_row_locks": "contention",
    "sessions_away": "client",
    "sessions_reading": "device latency",
    "sessions_committing": "fsync path",
    "sessions_in_log_buffer_waits": "fsync path",
    "sessions_in_free_page_waits": "free pages",
    "sessions_in_log_room_waits": "log limit",
}
#: Of real servers: they are sampled.
SAMPLED = ("sessions_syncing", "sessions_waiting")


def run(
    *, cpu_user_pct: float = 100, log_bin: str = "OFF", waits: float = 1, more: str = "", **places: float
) -> Evidence:
    """16 sessions, of which so many are in each place, on 4 cores."""
    age_bytes = 38e6 if places.get("sessions_in_log_room_waits") else 1e6
    told = dict.fromkeys(BOUNDS, 0.0) | places
    server = {"pages_read_per_s": 50, "pages_flushed_per_s": 500, "free_page_waits_per_s": waits, "dirty_pct": 20}
    server |= {"cpu_user_pct": cpu_user_pct} | {name: told.pop(name) for name in ("dirty_pct",) if name in told}
    return case(
        load=load(concurrency=16, in_flight=16, ops_per_s=100, throughput=100, queries_per_s=3000),
        machine=machine(cores=4),
        device=device("ssd", busy_pct=30, queue_depth=1),
        database=database(
            "mysql 5.7.44",
            {
                "innodb_flush_log_at_trx_commit": "1",
                "log_bin": log_bin,
                "sync_binlog": "1",
                "innodb_max_dirty_pages_pct": "75",
            },
            generation="mysql-5.7",
            redo=RedoLimits(35e6, 37e6, 40e6),
            checkpoint_age_bytes=age_bytes,
            **server,
            **told,
        ),
        experiment=experiment(EXPERIMENT + more),
        layers=Layers("modelled", "modelled", "none", "modelled", "intel-x25-m"),
    ).evidence


def test_every_place_has_a_bound() -> None:
    recorded = {one.name for one in fields(Database) if one.name.startswith("sessions_")}
    assert recorded - set(SAMPLED) == set(BOUNDS)


@pytest.mark.parametrize("place", BOUNDS)
def test_the_place_with_most_sessions_is_the_bound(place: str) -> None:
    told = diagnose(run(**{"sessions_running": 1, place: 12}))
    assert told.name == BOUNDS[place], told
    assert told.main is not None
    if told.main.of == "time":
        assert told.main.share >= 0.7


def test_a_commit_and_a_read_take_as_long_as_the_sessions_stay_there() -> None:
    time = session_time(run(sessions_committing=8, sessions_reading=4))
    assert time is not None and time.commit_us is not None
    assert time.commit_us == pytest.approx(1e6 * 8 / (100 * 21 / 23))
    assert time.read_us == pytest.approx(1e6 * 4 / 50)


def test_who_waits_for_a_row_waits_for_what_its_holder_waits_for() -> None:
    rows = {"sessions_in_row_locks": 12}
    queued = run(cpu_user_pct=400, sessions_running=1, sessions_in_cpu_queue=3, **rows)
    told = diagnose(queued)
    assert [told.name, told.others[0].name] == ["CPU", "contention"], "more cores let the holders go"
    assert any("waited for rows" in line for line in told.findings[0].evidence)
    idle = diagnose(run(cpu_user_pct=100, sessions_running=1, sessions_in_cpu_queue=3, **rows))
    assert idle.name == "contention", "with idle cores, a row is the limit"
    for log_bin, name in (("ON", "fsync path"), ("OFF", "contention")):
        # Row locks are given up before a commit waits for the redo log, and not before it waits for the binary log.
        told = diagnose(run(log_bin=log_bin, sessions_committing=3.5, sessions_running=0.5, **rows))
        assert told.name == name, log_bin
    assert diagnose(run(sessions_reading=3.5, sessions_running=0.5, **rows)).name == "device latency"


def test_a_limit_of_dirty_pages_stops_no_session() -> None:
    told = diagnose(run(dirty_pct=90, sessions_away=8, sessions_running=8))
    assert told.name == "client" and "dirty limit" in [one.name for one in told.others]


def test_a_place_that_hardly_anybody_is_in_is_not_told() -> None:
    told = diagnose(run(sessions_in_row_locks=12, sessions_in_page_latches=1e-6, sessions_running=4))
    assert not any("written" in line for line in told.findings[0].evidence)


def test_deadlocks_are_told_beside_row_locks() -> None:
    evidence = run(sessions_in_row_locks=12, sessions_running=4)
    assert evidence.database is not None
    counted = replace(evidence, database=replace(evidence.database, counters={"deadlocks": 4, "queries": 9}))
    assert "4 deadlocks" in diagnose(counted).findings[0].evidence


def test_an_emulator_s_part_of_the_cores_is_not_known() -> None:
    queued = {"sessions_running": 1.0, "sessions_in_cpu_queue": 12.0}
    assert processors(run(**queued)).idle is not None  # type: ignore[union-attr]
    assert processors(run(more="[database.cpu]\nrequest_us = 100", **queued)).idle is None  # type: ignore[union-attr]


def test_a_result_that_did_not_record_them_says_nothing_of_the_time() -> None:
    evidence = run(waits=40)
    assert evidence.database is not None
    older = replace(evidence, database=replace(evidence.database, sessions_running=None))
    assert session_time(older) is None
    assert diagnose(older).name == "not told"
