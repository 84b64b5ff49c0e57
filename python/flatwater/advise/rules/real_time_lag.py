"""A modelled device that is served in real time must keep up with its own model."""

from __future__ import annotations

from dataclasses import replace

from flatwater.advise.advice import Advice, Change
from flatwater.advise.rule import Case, Rule
from flatwater.runner.stack.storage.modelled.emulation import KEPT_UP_LATE_PCT


class RealTimeLag(Rule):
    """An emulated device was later than its model: its figures are too low."""

    name = "real-time-lag"
    about = "an emulated device that answers later than its model"
    source = "flatwater, docs/emulation.md: an answer is late by more than 5 % and 50 us"

    def advise(self, case: Case) -> Advice | None:
        """Fewer requests, more processors, or virtual time."""
        device = case.evidence.device
        late = device.lag_late_pct if device is not None else None
        if device is None or late is None or late.mean <= KEPT_UP_LATE_PCT:
            return None
        behind = device.lag_p95_us
        advice = self.advice(
            "The emulated device could not keep up with its model: the run is slower than the device would be.",
            Change(
                "measurement",
                "Give the machine more processors, use fewer connections or a slower device, or run the experiment in "
                "virtual time.",
            ),
            f"{late.mean:.1f} % of the answers were later than the model said",
            f"95 % of the answers were behind by at most {behind.mean:,.0f} us" if behind is not None else None,
            confidence="high",
        )
        return replace(advice, share=min(late.mean / 100, 1.0))
