"""A measured run's effects, by what-if: of runs that the model made, as a server would have left them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "what_if"))
from recorded import recorded

from flatwater.advise.advice import Advice, Change
from flatwater.advise.adviser import Consultation, consult
from flatwater.advise.effects.from_twin import WHAT_IF, twin_effects
from flatwater.analysis.bound import Diagnosis, Finding
from flatwater.results import open_result
from flatwater.results.schema import Bound

POOL = Change("setting", "A larger pool.", (), ("database.settings.innodb_buffer_pool_size=192M",))
ADVICE = Advice("buffer-pool", "Found.", (), POOL, "high", "", "A source", no_effect="not yet")
OUTSIDE = Advice("swap", "Found.", (), Change("host", "Swap less."), "high", "", "A source", no_effect="kept")


def consulted(path: Path, bound: str = "cache misses", *findings: Finding) -> Consultation:
    told = consult(open_result(recorded(path, bound=Bound(name=bound))), 0)
    diagnosis = Diagnosis("CPU", Finding("CPU", 0.5, "time", ("x",)), findings)
    return Consultation(told.cell, told.evidence, diagnosis, (ADVICE, OUTSIDE))


def test_what_the_model_covers_has_an_interval(tmp_path: Path) -> None:
    pool, outside = twin_effects(consulted(tmp_path / "run"), lambda _: None).advice
    assert pool.effect is not None
    assert pool.effect.source == WHAT_IF
    assert pool.effect.ratio is not None
    assert pool.effect.low < pool.effect.ratio < pool.effect.high
    assert outside == OUTSIDE


@pytest.mark.slow
def test_a_run_beside_busy_programs_is_not_predicted(tmp_path: Path) -> None:
    busy, little = (Finding("neighbour", share, "time", ("x",)) for share in (0.5, 0.05))
    pool, outside = twin_effects(consulted(tmp_path / "busy", "CPU", busy), lambda _: None).advice
    assert pool.effect is None
    assert pool.no_effect.startswith("not predicted: other programs took much of this run's time")
    assert outside == OUTSIDE
    pool, _ = twin_effects(consulted(tmp_path / "quiet", "CPU", little), lambda _: None).advice
    assert pool.effect is not None


@pytest.mark.parametrize("bound", ["device throughput", "garbage collection"])
def test_a_storage_at_its_unknown_limit_is_not_predicted(tmp_path: Path, bound: str) -> None:
    pool, outside = twin_effects(consulted(tmp_path / "run", bound), lambda _: None).advice
    assert pool.effect is None
    assert pool.no_effect.startswith("not predicted: the storage was at its limit")
    assert pool.no_effect.endswith("--verify measures it")
    assert outside == OUTSIDE
