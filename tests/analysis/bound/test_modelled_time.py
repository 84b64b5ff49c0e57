"""Where the time of a modelled server's sessions goes, with figures that runs of the model gave."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "advise"))
from cases import case, database, device, experiment, load, machine

from flatwater.analysis.bound import Evidence, diagnose
from flatwater.analysis.bound.device import OwnDevice
from flatwater.analysis.bound.evidence import Layers
from flatwater.analysis.bound.modelled_time import modelled_time
from flatwater.analysis.bound.sessions import session_time
from flatwater.experiment.database.placement import Holding

#: The machine has round trips of 175 us.
EXPERIMENT = """
[workload]
kind = "tpcc"
warehouses = 20
connections = 8
[database]
kind = "innodb-model"
generation = "mysql-5.7"
machine = "cisco-ucs-c250"
{more}
[storage]
kind = "{kind}"
device = "{device}"
"""
COMMITS = {"innodb_flush_log_at_trx_commit": "1"}


def run(
    kind: str = "raid", name: str = "raid10-8", more: str = "", own: tuple[OwnDevice, ...] = (), **told: Any
) -> Evidence:
    """8 sessions that do 967 transactions of 35 statements a second on 1.92 cores."""
    server = {"cpu_user_pct": 192, "pages_read_per_s": 0.6, "pages_flushed_per_s": 500, "log_writes_per_s": 865}
    settings = told.pop("settings", {"innodb_flush_log_at_trx_commit": "2"})
    storage = told.pop("storage", {"busy_pct": 6, "queue_depth": 7})
    return case(
        load=load(concurrency=8, in_flight=8, ops_per_s=967, throughput=967, queries_per_s=told.pop("queries", 33806)),
        machine=machine(cores=12),
        device=device(kind, **storage),
        database=database("mysql 5.7.44", settings, generation="mysql-5.7", **{**server, **told}),
        experiment=experiment(EXPERIMENT.format(kind=kind, device=name, more=more)),
        own_devices=own,
        layers=Layers("modelled", "modelled", "none", "modelled", name),
    ).evidence


def test_statements_on_the_way_are_no_waits_for_an_idle_device() -> None:
    told = diagnose(run())
    assert told.name == "client"
    assert told.main is not None
    assert told.main.share == pytest.approx(33806 * 175e-6 / 8)
    assert [one.name for one in told.others] == ["CPU"]


def test_what_nothing_explains_is_not_told() -> None:
    """Without the round trips three quarters of the time are left, and no read takes ten seconds."""
    time = session_time(run(queries=0))
    assert time is not None
    assert time.waiting is not None and time.waiting > 5
    assert time.read_us is not None and time.read_us < 1e6
    assert diagnose(run(queries=0)).name == "not told"


def test_a_queue_of_requests_tells_how_long_each_takes() -> None:
    volume = {"storage": {"busy_pct": 46, "queue_depth": 127}, "pages_read_per_s": 2049, "pages_flushed_per_s": 818}
    time = modelled_time(run("volume", "ebs-gp2-100gib", log_writes_per_s=125, **volume))
    assert time is not None
    assert time.read_us == pytest.approx(1e6 * 127 / (2049 + 818 + 125))


def test_a_log_on_a_device_of_its_own_takes_that_device_s_time() -> None:
    card = modelled_time(run("ssd", "samsung-pm9a3-7680-tlc", storage={"busy_pct": 1}))
    own = OwnDevice("disk-7200", Holding(("log",)), device("hdd", busy_pct=50))
    disk = modelled_time(
        run("ssd", "samsung-pm9a3-7680-tlc", 'log_device = "disk-7200"', (own,), storage={"busy_pct": 1})
    )
    assert card is not None and disk is not None
    assert disk.redo_us > 20 * card.redo_us
    assert disk.binlog_us == card.binlog_us


def test_a_commit_waits_no_longer_than_syncs_follow_each_other() -> None:
    quick = {"storage": {"busy_pct": 1}, "log_fsyncs_per_s": 1640, "settings": COMMITS, "queries": 0}
    time = session_time(run("ssd", "samsung-pm9a3-7680-tlc", **quick))
    assert time is not None and time.committing is not None
    assert time.committing <= 967 * 2 / 1640
    assert diagnose(run("ssd", "samsung-pm9a3-7680-tlc", **quick)).name != "fsync path"
