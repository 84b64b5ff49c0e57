"""A modelled run's effects, by running the model again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from flatwater.advise import with_effects
from flatwater.advise.advice import Change
from flatwater.advise.adviser import Consultation, consult
from flatwater.advise.effects import from_model
from flatwater.advise.effects.from_model import model_effects
from flatwater.experiment import load
from flatwater.results import open_result
from flatwater.runner.progress import SilentReporter
from flatwater.runner.sweep import run_experiment

FULL_CARD = """
title = "A full card"
[workload]
kind = "fileio"
mode = "rndwr"
block_size = "16KiB"
threads = 16
warmup_s = 2
duration_s = {duration_s}
[storage]
kind = "ssd"
device = "virident-tachion-400-slc"
capacity_scale = 0.01
[sweep]
"workload.threads" = [4, 16]
"""
RESERVE = "storage.reserve_pct=25"


def consulted(folder: Path, duration_s: float = 30) -> Consultation:
    (folder / "full.toml").write_text(FULL_CARD.format(duration_s=duration_s))
    run_experiment(load(folder / "full.toml"), folder / "result", SilentReporter(), lambda *_: None)
    return consult(open_result(folder / "result"), 1)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Consultation:
    told = consulted(tmp_path_factory.mktemp("full"))
    assert told.advice[0].change.overrides == (RESERVE,)
    return told


def test_the_effect_of_the_first_change_has_an_interval(told: Consultation) -> None:
    before = sorted((path, path.stat().st_mtime_ns) for path in told.cell.result.path.rglob("*"))
    advice = with_effects(told, lambda _: None).advice[0]
    effect = advice.effect
    assert effect is not None
    assert effect.ratio is not None
    assert 1 < effect.low < effect.ratio < effect.high
    assert effect.source.startswith("the model: 5 pairs of runs over 30 s")
    assert advice.no_effect == ""
    assert sorted((path, path.stat().st_mtime_ns) for path in told.cell.result.path.rglob("*")) == before


def test_a_change_that_no_experiment_makes_keeps_its_words(told: Consultation) -> None:
    outside = replace(told, advice=(replace(told.advice[0], change=Change("host", "Plan it.")),))
    assert model_effects(outside, lambda _: None) == outside


def test_a_change_that_is_not_possible_says_why(told: Consultation) -> None:
    wrong = replace(told.advice[0], rule="wrong", change=Change("hardware", "Wrong.", (), ("storage.size=1PiB",)))
    advice = model_effects(replace(told, advice=(wrong, told.advice[0])), lambda _: None).advice
    assert advice[0].effect is None
    assert advice[0].no_effect.startswith("not predicted: ")
    assert advice[1].effect is not None, "the others are predicted all the same"


def test_too_little_processor_time_is_told(told: Consultation) -> None:
    advice = model_effects(told, lambda _: None, cpu_s=1e-6).advice[0]
    assert advice.effect is None
    assert "more than --cpu-s 1e-06" in advice.no_effect


@pytest.mark.slow
def test_the_first_changes_are_modelled_where_time_is_short(
    told: Consultation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def prices(*_: object) -> tuple[float, float]:
        return 1.0, 0.0

    monkeypatch.setattr(from_model._Modelling, "_prices", prices)
    second = replace(told.advice[0], rule="second")
    advice = model_effects(replace(told, advice=(told.advice[0], second)), lambda _: None, cpu_s=6.5).advice
    assert advice[0].effect is not None
    assert advice[0].effect.source.startswith("the model: 3 pairs")
    assert "more than --cpu-s" in advice[1].no_effect


@pytest.mark.slow
def test_a_long_run_is_shortened(told: Consultation, monkeypatch: pytest.MonkeyPatch) -> None:
    def prices(*_: object) -> tuple[float, float]:
        return 0.0, 1.0  # a second of processor time for each virtual one

    monkeypatch.setattr(from_model._Modelling, "_prices", prices)
    effect = model_effects(told, lambda _: None, cpu_s=6 * 25.5).advice[0].effect
    assert effect is not None
    assert effect.source.startswith("the model: 3 pairs of runs over 23 of its 30 s")
    # The same runs, if those seconds had another level than the whole run.
    monkeypatch.setattr(from_model, "_shortened", lambda *_: 0.05)
    unlike = model_effects(told, lambda _: None, cpu_s=6 * 25.5).advice[0].effect
    assert unlike is not None
    assert unlike.low < 0.97 * effect.low
    assert unlike.high > 1.03 * effect.high


@pytest.mark.parametrize(("worth", "low", "high"), [(1.0, 1.0, 1.0), (1.25, 0.8, 1.0), (0.8, 1.0, 1.25)])
def test_the_interval_reaches_the_ratio_over_the_run_itself(
    told: Consultation, monkeypatch: pytest.MonkeyPatch, worth: float, low: float, high: float
) -> None:
    """The run is given so many times the throughput of its other seeds."""
    plain = from_model._throughput
    others = plain(told.cell)
    monkeypatch.setattr(
        from_model,
        "_throughput",
        lambda cell, measure_s=None: worth * others if cell is told.cell else others,
    )
    found = model_effects(told, lambda _: None).advice[0].effect
    monkeypatch.setattr(from_model, "_throughput", lambda cell, measure_s=None: others)
    alone = model_effects(told, lambda _: None).advice[0].effect
    assert found is not None and alone is not None
    assert (found.low / alone.low, found.high / alone.high) == pytest.approx((low, high))
