"""The order of advice once effects are predicted."""

from __future__ import annotations

from flatwater.advise.advice import Advice, Change, Effect
from flatwater.advise.effects import by_gain

#: What each rule's change is predicted to do, in the order of the bounds that they relieve; None: not predicted.
RANKED: dict[str, Effect | None] = {
    "a loss": Effect(0.5, 0.8, "what-if"),
    "small": Effect(1.01, 1.03, "what-if"),
    "unknown": None,
    "none": Effect(0.9, 1.2, "what-if", ratio=1.0),
    "large": Effect(1.2, 1.6, "what-if", ratio=1.5),
    "unknown, too": None,
}


def test_predicted_gains_are_in_their_order_and_the_others_keep_their_rank() -> None:
    advice = [
        Advice(rule, "", (), Change("setting", ""), "high", "", "", effect=effect) for rule, effect in RANKED.items()
    ]
    told = [one.rule for one in by_gain(advice)]
    assert told == ["large", "small", "unknown", "none", "unknown, too", "a loss"]
    assert by_gain([]) == ()
