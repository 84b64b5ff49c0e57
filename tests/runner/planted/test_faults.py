"""Faults that are planted, and runs without any, through the whole path: a run, its diagnosis, the advice.

The machine of the tests may be busy with something else. A neighbour is then a finding, and a right one: of real runs
it is left out, unless it is what was planted.
"""

from __future__ import annotations

import modelled_faults
import pytest
import real_faults
from faults import Consult, Healthy, Planted

from flatwater.advise.adviser import Consultation
from flatwater.advise.rules import RULES
from flatwater.analysis.bound import BOUNDS

#: The advice of these is about the machine of the tests.
_OF_THE_MACHINE = {"noisy-neighbour", "real-time-lag", "write-barriers", "cpu-governor", "swap"}
REAL = [*real_faults.FAULTS, *real_faults.HEALTHY]
MODELLED = [*modelled_faults.FAULTS, *modelled_faults.HEALTHY]


def bounds_of(told: Consultation, without: str = "") -> list[str]:
    """What bounded it, the largest first; a rate that was served stands under its own name."""
    return [one.name for one in told.diagnosis.findings if one.name != without]


def check(planted: Planted, told: Consultation, *, real: bool) -> None:
    """What was planted is the first or the second finding, and the first or the second advice."""
    noise = "" if planted.beside or not real else "neighbour"
    bounds = bounds_of(told, noise)
    assert not planted.bounds or planted.bounds & {*bounds[:2]}, told.diagnosis
    main = next(one for one in told.diagnosis.findings if one.name != noise)
    assert any(letter.isdigit() for letter in main.evidence[0]), "in figures of this run"
    rules = [one.rule for one in told.advice if not (noise and one.rule == "noisy-neighbour")]
    assert not planted.rules or planted.rules & {*rules[:2]}, rules


def check_healthy(healthy: Healthy, told: Consultation, *, real: bool) -> None:
    """Nothing is named and nothing advised but what is so."""
    noise, machine = ("neighbour", _OF_THE_MACHINE) if real else ("", set[str]())
    if healthy.bounds == {"nothing"}:
        assert (told.diagnosis.name, told.diagnosis.others) == ("nothing", ()), told.diagnosis
    else:
        assert {*bounds_of(told, noise)} <= healthy.bounds, told.diagnosis
    assert {one.rule for one in told.advice} - machine <= healthy.rules, told.advice


def slow_if_modelled_server(planted: Planted | Healthy) -> list[pytest.MarkDecorator]:
    return [pytest.mark.slow] if planted.tables["workload"].get("warehouses", 0) > 10 else []


@pytest.mark.parametrize(
    "planted", [pytest.param(one, id=one.name, marks=slow_if_modelled_server(one)) for one in modelled_faults.FAULTS]
)
def test_a_fault_of_a_modelled_run_is_named(planted: Planted, modelled: Consult) -> None:
    check(planted, modelled(planted), real=False)


@pytest.mark.slow_cases("a log buffer that is small and never full", "a machine with round trips, a card")
@pytest.mark.parametrize("healthy", modelled_faults.HEALTHY, ids=lambda one: one.name)
def test_nothing_is_said_of_a_healthy_modelled_run(healthy: Healthy, modelled: Consult) -> None:
    told = modelled(healthy)
    check_healthy(healthy, told, real=False)
    assert not told.evidence.stalls


@pytest.mark.slow
@pytest.mark.parametrize("planted", real_faults.FAULTS, ids=lambda one: one.name)
def test_a_fault_of_a_real_run_is_named(planted: Planted, real: Consult) -> None:
    check(planted, real(planted), real=True)


@pytest.mark.slow
@pytest.mark.parametrize("healthy", real_faults.HEALTHY, ids=lambda one: one.name)
def test_nothing_false_is_said_of_a_healthy_real_run(healthy: Healthy, real: Consult) -> None:
    check_healthy(healthy, real(healthy), real=True)


def test_there_are_as_many_as_were_promised() -> None:
    """Issue 16: thirty faults, half of them real, and ten healthy runs."""
    assert len(modelled_faults.FAULTS) + len(real_faults.FAULTS) >= 30
    assert len(real_faults.FAULTS) >= 15
    assert len(modelled_faults.HEALTHY) + len(real_faults.HEALTHY) >= 10


def test_each_has_a_name_of_its_own_and_an_answer() -> None:
    for group in (REAL, MODELLED, real_faults.PROMISING):
        assert len({one.name for one in group}) == len(group)
    known = {find.__module__.rpartition(".")[2].replace("_", " ") for find in BOUNDS} | {"CPU", "nothing"}
    for one in (*REAL, *MODELLED):
        assert one.bounds or one.rules
        assert one.bounds <= known
        assert one.rules <= {rule.name for rule in RULES}


def test_a_load_that_only_writes_misses_nothing_that_it_reads(modelled: Consult) -> None:
    (through,) = (one for one in modelled_faults.FAULTS if "cache-mode" in one.rules)
    found = bounds_of(modelled(through))
    assert found
    assert "cache misses" not in found
