"""What each change is expected to do to the throughput, with an interval.

interval.py    the interval that pairs of modelled runs show
from_model.py  of a modelled run: the same experiment with and without the change, over a few seeds
from_emulation.py  of fileio on an emulated device: the device's model, in virtual time
from_twin.py   of a measured run of a server: what-if's twin
unpredicted.py reasons for no effect
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from flatwater.advise.adviser import Consultation
from flatwater.advise.effects.from_emulation import emulation_effects, is_emulated_fileio
from flatwater.advise.effects.from_model import CPU_S, model_effects
from flatwater.advise.effects.from_twin import twin_effects

__all__ = ["CPU_S", "with_effects"]


def with_effects(
    consultation: Consultation,
    progress: Callable[[str], None],
    cpu_s: float | None = None,
    *,
    programs: bool = False,
) -> Consultation:
    """The same advice, each with its expected effect, or with the reason why there is none.

    Changes that are expected to cost throughput come last: a rule may still be right about a flatter line or about
    safety, and the user decides. `cpu_s`: the processor time that modelled runs may take in all; None for `CPU_S`.
    `programs`: those that the experiment names may run.
    """
    allowed_s = CPU_S if cpu_s is None else cpu_s
    if consultation.evidence.layers.virtual:
        told = model_effects(consultation, progress, allowed_s, programs=programs)
    elif is_emulated_fileio(consultation.evidence.experiment):
        told = emulation_effects(consultation, progress, allowed_s)
    else:
        told = twin_effects(consultation, progress)
    losses_last = sorted(told.advice, key=lambda one: one.effect is not None and one.effect.is_loss)
    return dataclasses.replace(told, advice=tuple(losses_last))
