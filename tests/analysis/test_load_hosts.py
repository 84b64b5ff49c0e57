"""Warnings of a load that several hosts made, at their limits."""

from __future__ import annotations

import pytest

from flatwater.analysis.load_hosts import APART_MAX, load_host_warnings
from flatwater.analysis.noise import IDLE_PCT_MIN, OTHERS_CPU_PCT_MAX, STEAL_PCT_MAX, noise_warnings
from flatwater.results.load_host import LoadHost
from flatwater.results.schema import MetricSummary

HOST = LoadHost(host="10.0.0.2", first=1, sessions=4, instant_bound_us=500, began_late_us=300, interval_late_us=900)
CALM = {"machine_idle_pct": 50.0, "machine_steal_pct": 0.0, "machine_others_cpu_pct": 5.0}


def warned(**changed: float) -> list[str]:
    """The warnings of the second of two hosts, whose figures are these."""
    told = {f"workload.host0_{name}": MetricSummary(mean=value, max=value) for name, value in CALM.items()}
    own = {f"workload.host1_{name}": MetricSummary(mean=value, max=value) for name, value in (CALM | changed).items()}
    return load_host_warnings([HOST, HOST.model_copy(update={"host": "10.0.0.3"})], told | own, 1.0)


def test_calm_hosts_have_no_warning() -> None:
    assert warned() == []
    assert load_host_warnings([], {}, 1.0) == []
    assert load_host_warnings([HOST], {}, 1.0) == []


@pytest.mark.parametrize(
    ("name", "limit", "beyond", "words"),
    [
        ("machine_idle_pct", IDLE_PCT_MIN, IDLE_PCT_MIN - 0.1, "load host 10.0.0.3 was idle for 4.9 %"),
        ("machine_steal_pct", STEAL_PCT_MAX, STEAL_PCT_MAX + 0.1, "on load host 10.0.0.3 CPU steal was 2.1 %"),
        ("machine_others_cpu_pct", OTHERS_CPU_PCT_MAX, 100.0, "other processes used 1.0 cores"),
    ],
)
def test_a_host_that_is_not_calm_is_named(name: str, limit: float, beyond: float, words: str) -> None:
    assert warned(**{name: limit}) == []
    [warning] = warned(**{name: beyond})
    assert words in warning and "10.0.0.3" in warning


def test_hosts_that_are_apart_are_told() -> None:
    """The bound of the clock counts, too."""
    limit_us = APART_MAX * 1e6
    late = HOST.model_copy(update={"interval_late_us": limit_us - 500})
    assert load_host_warnings([late], {}, 1.0) == []
    late = HOST.model_copy(update={"interval_late_us": limit_us - 499})
    [warning] = load_host_warnings([late], {}, 1.0)
    assert "lie up to 100.0 ms beside those" in warning
    [warning] = load_host_warnings([late.model_copy(update={"began_late_us": 200_000.0})], {}, 1.0)
    assert "lie up to 200.5 ms" in warning


def test_the_processors_of_load_hosts_are_not_the_server_s() -> None:
    means = {"workload.client_cpu_user_pct": 350.0, "machine.cpu_idle_pct": 50.0}
    assert len(noise_warnings(means, 4, database=True)) == 1
    assert noise_warnings(means | {"workload.host0_ops_per_s": 1.0}, 4, database=True) == []
