"""A modelled device that is served in real time must keep up with its own model."""

from __future__ import annotations

from dataclasses import replace

from flatwater.advise.advice import Advice, Change
from flatwater.advise.rule import Case, Rule
from flatwater.analysis.bound import Evidence
from flatwater.analysis.bound.finding import LISTED_MIN
from flatwater.analysis.bound.sessions import session_time
from flatwater.runner.stack.storage.modelled.emulation import KEPT_UP_LATE_PCT


class RealTimeLag(Rule):
    """An emulated device was later than its model: its figures are too low."""

    name = "real-time-lag"
    about = "an emulated device that answers later than its model"
    source = "flatwater, docs/emulation.md: an answer is late by more than 5 % and 50 us"
    elsewhere = "the run measured a device that was late; a run that keeps up is another measurement"

    def advise(self, case: Case) -> Advice | None:
        """Fewer requests, more processors, or virtual time."""
        device = case.evidence.device
        late = device.lag_late_pct if device is not None else None
        if device is None or late is None or late.mean <= KEPT_UP_LATE_PCT:
            return None
        share = _share(case.evidence, late.mean / 100)
        if share < LISTED_MIN:
            return None
        behind = device.lag_p95_us
        advice = self.advice(
            "The emulated device could not keep up with its model: its answers are later than the device's would be.",
            Change(
                "measurement",
                "Give the machine more processors, use fewer connections or a slower device, or run the experiment in "
                "virtual time.",
            ),
            f"{late.mean:.1f} % of the answers were later than the model said",
            f"95 % of the answers were behind by at most {behind.mean:,.0f} us" if behind is not None else None,
            confidence="high",
        )
        return replace(advice, share=share)


def _share(evidence: Evidence, late: float) -> float:
    """The share of the sessions' time that the lag took; that of the late answers where their number is unknown."""
    device, time = evidence.device, session_time(evidence)
    rates = [one.mean for one in (device.read_ops_per_s, device.write_ops_per_s) if one is not None] if device else []
    if device is None or device.lag_p95_us is None or time is None or not rates:
        return min(late, 1.0)
    # Little's law: requests that are late, times how late they are. Where more than one in twenty is late, the 95th
    # percentile of all is late too.
    return time.of(sum(rates) * late * device.lag_p95_us.mean / 1e6)
