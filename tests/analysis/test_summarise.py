from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flatwater.analysis import analyse
from flatwater.results import CellSummary, Phase, Series
from flatwater.results.series import EMPTY

sys.path.insert(0, str(Path(__file__).parent))
from known_series import series

PHASES = [Phase(name="warmup", start_s=0, end_s=60), Phase(name="measure", start_s=60, end_s=660)]


class Recorded:
    def __init__(self, **metrics: object) -> None:
        self.metrics = {tuple(name.split("__")): series(values) for name, values in metrics.items()}

    def __call__(self, layer: str, metric: str) -> Series:
        return self.metrics.get((layer, metric), EMPTY)

    @property
    def names(self) -> list[tuple[str, str]]:
        return [(name[0], name[1]) for name in self.metrics]


def test_only_the_measured_phase_counts_and_all_fits_the_summary() -> None:
    recorded = Recorded(
        workload__throughput=np.concatenate([np.zeros(60), np.full(600, 1000.0)]),
        machine__cpu_steal_pct=np.concatenate([np.zeros(60), np.full(600, 10.0)]),
        database__unheard_of=np.arange(660.0),
    )
    found = analyse(recorded, recorded.names, PHASES, "IOPS", 1.0, cores=2)
    assert (found.mean, found.stddev, found.flatness, found.samples) == (1000, 0, 1, 600)
    assert (found.verdict, found.steady, found.steady_since_s, found.warmup_end_s) == ("flat", True, 60, 60)
    assert found.metrics["machine.cpu_steal_pct"].mean == 10
    assert found.metrics["database.unheard_of"].max == 659
    assert [warning for warning in found.warnings if "steal" in warning]
    CellSummary(cell=0, seed=1, status="complete", unit="IOPS", **vars(found))


def test_nothing_recorded() -> None:
    found = analyse(Recorded(), [], PHASES, "IOPS", 1.0)
    assert (found.mean, found.verdict, found.samples, found.metrics) == (None, None, 0, {})
    assert found.verdict_text.startswith("Not enough samples: 0")


def test_nothing_finite_and_no_phases() -> None:
    recorded = Recorded(workload__throughput=np.full(20, np.nan), workload__latency_p99_us=np.full(20, np.inf))
    found = analyse(recorded, recorded.names, [], "IOPS", 1.0)
    assert (found.samples, found.metrics) == (0, {})


def test_a_dead_second_is_a_stall() -> None:
    rate = np.full(660, 1000.0)
    rate[300] = 0
    recorded = Recorded(workload__throughput=rate, workload__ops_per_s=rate, workload__in_flight=np.full(660, 4.0))
    found = analyse(recorded, recorded.names, PHASES, "IOPS", 1.0)
    assert found.verdict == "stalls"
    assert [(stall.start_s, stall.length_s) for stall in found.stalls] == [(300, 1)]


def test_holes_and_errors_are_told() -> None:
    rate = np.full(660, 1000.0)
    whole = Recorded(workload__throughput=rate, workload__errors_per_s=np.full(660, 0.5))
    kept = np.r_[0:200, 400:660]
    whole.metrics[("workload", "throughput")] = Series(kept + 1.0, rate[kept])
    found = analyse(whole, whole.names, PHASES, "IOPS", 1.0)
    assert [warning for warning in found.warnings if "33 % of the measured phase was not recorded" in warning]
    assert [warning for warning in found.warnings if "requests failed, 0.5 a second" in warning]


def test_a_million_seconds() -> None:
    rng = np.random.default_rng(1)
    recorded = Recorded(workload__throughput=rng.normal(1000, 10, 1_000_000))
    phases = [Phase(name="measure", start_s=0, end_s=1_000_000)]
    found = analyse(recorded, recorded.names, phases, "IOPS", 1.0)
    assert found.verdict == "flat"
    assert found.mean_ci95 == pytest.approx(0.02, rel=0.1)


@settings(max_examples=200)
@given(
    values=st.lists(st.floats(0, 1e12) | st.sampled_from([0.0, 1.0, 1e5, float("nan")]), max_size=400),
    in_flight=st.sampled_from([0.0, 8.0]),
    interval_s=st.sampled_from([0.1, 1.0, 10.0]),
)
def test_any_series_gets_a_summary(values: list[float], in_flight: float, interval_s: float) -> None:
    recorded = {
        ("workload", "throughput"): series(values, interval_s),
        ("workload", "in_flight"): series([in_flight] * len(values), interval_s),
    }
    phases = [Phase(name="measure", start_s=0, end_s=interval_s * len(values))]
    found = analyse(lambda *name: recorded.get(name, EMPTY), list(recorded), phases, "IOPS", interval_s)
    assert found.verdict_text.endswith((".", ")"))
    assert "nan" not in found.verdict_text
    assert "inf" not in found.verdict_text
    CellSummary(cell=0, seed=1, status="complete", unit="IOPS", **vars(found)).model_dump_json()


@pytest.mark.parametrize(("unit", "what"), [("NOTPM", "transactions"), ("tps", "transactions"), ("IOPS", "requests")])
def test_what_failed_is_named(unit: str, what: str) -> None:
    recorded = Recorded(workload__throughput=np.full(660, 50.0), workload__errors_per_s=np.full(660, 2.0))
    found = analyse(recorded, recorded.names, PHASES, unit, 1.0)
    assert [warning for warning in found.warnings if warning.startswith(f"{what} failed, 2 a second")]


def test_a_dead_server_is_a_stall_and_its_slow_return_a_dip() -> None:
    """Killed in the middle of second 300, back after 22 s, at half speed for 60 s until its pages are read again."""
    done = 400 + 4 * np.random.default_rng(17).standard_normal(660)
    done[300] *= 0.4
    done[301:322] = 0
    done[322:382] *= 0.5
    waiting = np.full(660, 8.0)
    recorded = Recorded(workload__throughput=done * 60, workload__ops_per_s=done, workload__in_flight=waiting)
    found = analyse(recorded, recorded.names, PHASES, "NOTPM", 1.0)
    assert found.verdict == "stalls"
    assert [(stall.start_s, stall.length_s) for stall in found.stalls] == [(301, 21)]
    assert "nothing finished for 21 s while transactions waited" in found.verdict_text
    (dip,) = found.dips
    assert dip.start_s == 323 and dip.length_s == pytest.approx(59, abs=1)
    assert dip.depth == pytest.approx(0.5, abs=0.05)


def test_a_server_that_is_dead_at_the_end() -> None:
    done = np.full(660, 400.0)
    done[600:] = 0
    recorded = Recorded(workload__throughput=done, workload__ops_per_s=done, workload__in_flight=np.full(660, 8.0))
    found = analyse(recorded, recorded.names, PHASES, "tps", 1.0)
    assert (found.verdict, len(found.stalls), found.dips) == ("stalls", 1, [])
