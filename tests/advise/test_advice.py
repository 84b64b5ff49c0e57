"""What an advice promises, in words."""

from __future__ import annotations

from dataclasses import replace

from flatwater.advise.advice import Advice, Change, Effect, Elsewhere

PUBLISHED = Elsewhere(1.85, 3.04, "noop instead of cfq", "Somebody (2009)")
ADVICE = Advice("io-scheduler", "Found.", (), Change("host", "Change it."), "high", "", "A source", no_effect="unknown")


def test_a_prediction_for_this_run_comes_first() -> None:
    told = replace(ADVICE, effect=Effect(1.1, 1.3, "what-if"), no_effect="", elsewhere=PUBLISHED)
    assert told.expected == "1.10x to 1.30x the throughput (what-if)"


def test_else_what_was_measured_elsewhere_with_its_conditions() -> None:
    assert replace(ADVICE, elsewhere=PUBLISHED).expected == (
        "unknown. Measured elsewhere: 1.85x to 3.04x the throughput (noop instead of cfq; Somebody (2009))"
    )
    one = replace(PUBLISHED, low=2.22, high=2.22)
    assert "Measured elsewhere: 2.22x the throughput (" in replace(ADVICE, elsewhere=one).expected


def test_else_the_reason() -> None:
    assert ADVICE.expected == "unknown"


def test_an_interval_around_one_shows_no_difference() -> None:
    assert Effect(0.98, 1.02, "a model").text == "0.98x to 1.02x the throughput: no difference is certain"
    assert "certain" not in Effect(1.01, 1.02, "a model").text


def test_a_change_that_costs_throughput_says_so() -> None:
    loss = Effect(0.63, 0.84, "a model")
    assert loss.is_loss
    assert loss.text == "0.63x to 0.84x the throughput: a loss"
    assert not Effect(0.98, 1.02, "a model").is_loss
