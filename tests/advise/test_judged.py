"""Silence for lack of evidence is told from silence for lack of a reason."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import numpy as np
from cases import case, database, device, finding, machine

from flatwater.advise.judged import NotJudged, not_judged
from flatwater.advise.rule import Case
from flatwater.advise.rules import RULES
from flatwater.analysis.bound.device import Device
from flatwater.analysis.bound.evidence import Database, Load, Machine, metrics_of
from flatwater.analysis.bound.finding import Name
from flatwater.analysis.bound.needs import NEEDS
from flatwater.results.observation import Gap

ELSEWHERE = Gap(
    what="the server's machine",
    figures=["database.server_cpu_user_pct", "database.sessions_waiting", "storage.*", "machine.*"],
    why="the server runs on another machine",
)
OFF = Gap(what="why pages were flushed", figures=["database.pages_flushed_sync_per_s"], why="the counters are off")
AGE = Gap(what="the checkpoint age", figures=["database.checkpoint_age_bytes"], why="no privilege")


def lacking(told: Case, *gaps: Gap) -> dict[str, NotJudged]:
    evidence = replace(told.evidence, gaps=gaps)
    spoke = {rule.name for rule in RULES if rule.advise(told) is not None}
    return {one.rule: one for one in not_judged(evidence, told, RULES, spoke)}


def remote() -> Case:
    return case(database=database(checkpoint_age_bytes=1e6), machine=machine(cores=None, memory_bytes=None))


def test_nothing_is_missing() -> None:
    told = case(database=database(), device=device(busy_pct=50, read_await_us=100))
    assert lacking(told) == {}


def test_a_server_elsewhere() -> None:
    found = lacking(remote(), ELSEWHERE)
    # Of the device, of the host's settings, of the neighbours, of the locks inside the server nothing is known.
    assert {"faster-device", "swappiness", "mount-atime", "noisy-neighbour", "pool-instances"} <= found.keys()
    # No real device tells what a model does.
    assert found.keys().isdisjoint({"real-time-lag", "volume-credits"})
    # A controller's work for itself shows in the device's series, too.
    assert {"battery-relearn", "patrol-read"} <= found.keys()
    # The log, row locks and what the server counts itself are judged.
    assert found.keys().isdisjoint({"redo-size", "row-locks", "log-buffer", "dirty-limit"})
    assert found["swappiness"].why == (f"not recorded: {ELSEWHERE.text}",)
    assert "swap" in found["swappiness"].about


def test_what_only_makes_evidence_richer_is_not_missed() -> None:
    told = case(database=database(checkpoint_age_bytes=1e6, cpu_user_pct=5), device=device(busy_pct=50))
    assert lacking(told, OFF) == {}


def test_the_age_is_what_the_log_is_judged_by() -> None:
    found = lacking(case(database=database(), device=device(busy_pct=50)), AGE)
    assert "redo-size" in found and "noisy-neighbour" not in found


def test_a_rule_that_spoke_was_judged() -> None:
    settings = {"innodb_log_file_size": "100663296"}
    told = case(finding("log limit", 0.8, "at the limit"), database=database(settings=settings))
    assert "redo-size" not in lacking(told, AGE, ELSEWHERE)


def test_of_a_run_that_is_too_short_nothing_is_judged() -> None:
    told = case(database=database())
    short = replace(told.evidence, time_s=np.arange(1.0, 4.0))
    found = not_judged(short, told, RULES, ())
    assert [one.rule for one in found] == [rule.name for rule in RULES]
    assert found[0].why[0].startswith("3 intervals were measured")


def test_every_bound_says_what_it_needs_in_recorded_series() -> None:
    assert set(NEEDS) == set(get_args(Name))
    groups = {"workload": Load, "machine": Machine, "storage": Device, "database": Database}
    known = {
        f"{layer}.{one}" for layer, group in groups.items() for names in metrics_of(group).values() for one in names
    }
    known |= {f"{layer}.*" for layer in groups}
    assert {figure for figures in NEEDS.values() for figure in figures} <= known
