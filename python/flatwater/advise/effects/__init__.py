"""What each change is expected to do to the throughput, with an interval.

interval.py    the interval that pairs of modelled runs show
from_model.py  of a modelled run: the same experiment with and without the change, over a few seeds
from_emulation.py  of fileio on an emulated device: the device's model, in virtual time
from_twin.py   of a measured run of a server: what-if's twin
unpredicted.py reasons for no effect
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence

from flatwater.advise.advice import Advice
from flatwater.advise.adviser import Consultation
from flatwater.advise.effects.from_emulation import emulation_effects, is_emulated_fileio
from flatwater.advise.effects.from_model import CPU_S, model_effects
from flatwater.advise.effects.from_twin import twin_effects

__all__ = ["CPU_S", "by_gain", "with_effects"]


def with_effects(
    consultation: Consultation,
    progress: Callable[[str], None],
    cpu_s: float | None = None,
    *,
    programs: bool = False,
) -> Consultation:
    """The same advice, each with its expected effect, or with the reason why there is none, in the order of
    `by_gain`. `cpu_s`: the processor time that modelled runs may take in all; None for `CPU_S`.
    `programs`: those that the experiment names may run.
    """
    allowed_s = CPU_S if cpu_s is None else cpu_s
    if consultation.evidence.layers.virtual:
        told = model_effects(consultation, progress, allowed_s, programs=programs)
    elif is_emulated_fileio(consultation.evidence.experiment):
        told = emulation_effects(consultation, progress, allowed_s)
    else:
        told = twin_effects(consultation, progress)
    return dataclasses.replace(told, advice=by_gain(told.advice))


def by_gain(ranked: Sequence[Advice]) -> tuple[Advice, ...]:
    """Advice that is ranked by its bound, with what is predicted: those changes, among each other, by their gain.

    A change of which nothing is predicted keeps its rank. Changes that are expected to cost throughput come last: a
    rule may still be right about a flatter line or about safety, and the user decides.
    """
    predicted = iter(sorted((one for one in ranked if one.effect is not None), key=lambda one: -_gain(one)))
    found = [one if one.effect is None else next(predicted) for one in ranked]
    return tuple(sorted(found, key=lambda one: one.effect is not None and one.effect.is_loss))


def _gain(advice: Advice) -> float:
    effect = advice.effect
    assert effect is not None
    return effect.ratio if effect.ratio is not None else math.sqrt(effect.low * effect.high)
