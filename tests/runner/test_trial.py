"""`check` says what modelled cells take in this world, by computing a little of some of them."""

from __future__ import annotations

import json

import pytest
from lab import Lab
from modelledlab import write_modelled

from flatwater.experiment import load
from flatwater.runner import trial


def test_longer_cells_take_longer(lab: Lab) -> None:
    short = trial.real_seconds(load(write_modelled(lab, [1.0], duration_s=1000)))
    long = trial.real_seconds(load(write_modelled(lab, [1.0], duration_s=100_000)))
    assert short is not None and long is not None
    assert 0 < short < long


def test_what_is_not_ready_soon_is_not_guessed(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "_try_cells", lambda experiment, found: None)
    file = write_modelled(lab, [1.0, 2.0], duration_s=100)
    assert trial.real_seconds(load(file)) is None
    assert ", about 3 min of virtual time (computed, not waited for)" in lab.run(file, verb="check").stdout


def test_check_tells_it(lab: Lab) -> None:
    file = write_modelled(lab, [1.0, 2.0], duration_s=1000)
    text = lab.run(file, verb="check").stdout
    assert "about 33 min of virtual time (computed in about " in text and " here)" in text
    (told,) = lab.run(file, "--json", verb="check").cells
    assert 0 < told["real_s"] < told["longest_s"] == 2000
    real = json.loads(lab.run(lab.write({"duration_s": 30}), "--json", verb="check").stdout)
    assert real["real_s"] == real["longest_s"] == 30
