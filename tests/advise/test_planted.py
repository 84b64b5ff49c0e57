"""Faults that are planted, through the whole path: a run, its diagnosis, the advice."""

from __future__ import annotations

from pathlib import Path

import pytest
from planted import FAULTS, HEALTHY, Planted

from flatwater.advise.advice import Advice
from flatwater.advise.adviser import consult
from flatwater.experiment import load
from flatwater.results import open_result
from flatwater.runner.progress import SilentReporter
from flatwater.runner.sweep import run_experiment


def advised(planted: Planted, folder: Path) -> list[Advice]:
    """Runs the experiment, and asks for advice."""
    file = folder / "planted.toml"
    file.write_text(f'title = "planted"\n{planted.text}')
    run_experiment(load(file), folder / "result", SilentReporter(), lambda *_: None)
    return list(consult(open_result(folder / "result")).advice)


@pytest.mark.parametrize(
    "planted",
    [pytest.param(one, id=one.name, marks=[pytest.mark.slow] if "innodb-model" in one.text else []) for one in FAULTS],
)
def test_a_planted_fault_is_the_first_or_second_advice(planted: Planted, tmp_path: Path) -> None:
    assert planted.rule in [one.rule for one in advised(planted, tmp_path)[:2]]


@pytest.mark.parametrize("planted", HEALTHY, ids=lambda one: one.name)
def test_nothing_is_advised_of_a_healthy_run(planted: Planted, tmp_path: Path) -> None:
    assert advised(planted, tmp_path) == []
