"""What an array does for itself: patrol reads, consistency checks, rebuilds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from flatwater.advise.advice import Advice, Change, Elsewhere
from flatwater.advise.chores import events_without, slowed
from flatwater.advise.rule import Case, Rule
from flatwater.analysis.bound.below import chores_text

#: What a run waits for where reads of an array beside it can be in its way.
_STORAGE = ("device throughput", "device latency", "cache misses", "fsync path", "free pages", "log limit")


class PatrolRead(Rule):
    """The array read its members for itself, and the run was slower meanwhile, or had no other time."""

    name = "patrol-read"
    about = "patrol reads, checks and rebuilds beside the load"
    source = "RAID controllers, 2008-2011: patrol reads take up to 30 % of the IO; mdadm(8), checks and sync_speed_max"
    elsewhere = Elsewhere(
        1.0,
        1.43,
        "a patrol read takes up to 30 % of an array's requests, and none of them afterwards",
        "RAID controllers (2008-2011)",
    )

    def advise(self, case: Case) -> Advice | None:
        """Plan checks for quiet hours; wait for the end of a rebuild."""
        device = case.evidence.device
        if device is None or case.is_served:
            return None
        works = {"patrol": device.patrol_pct, "check": device.check_pct, "rebuild": device.rebuild_pct}
        # The gauges exist only while the work is under way.
        active = {name: np.isfinite(line.value) for name, line in works.items() if line is not None}
        if not active:
            return self._of_moments(case)
        name, marked = max(active.items(), key=lambda one: int(one[1].sum()))
        told = slowed(case.evidence, marked)
        if told is None:
            return None
        words = {"patrol": "a patrol read", "check": "a consistency check", "rebuild": "a rebuild"}[name]
        text = (
            "Measure again when the array is whole. A lower rebuild rate disturbs less, and leaves the array without "
            "protection for longer."
            if name == "rebuild"
            else "Plan patrol reads and checks for quiet hours, and lower their rate. Do not switch them off."
        )
        advice = self.advice(
            f"The array was busy with {words} while it was measured.",
            Change("hardware", text, (), events_without(case.evidence, name) if name != "rebuild" else ()),
            told.text(f"{words} was under way"),
            confidence="high",
            risk="without these reads, sectors that went bad are found only when a member fails",
        )
        return replace(advice, share=told.share)

    def _of_moments(self, case: Case) -> Advice | None:
        """Of controllers and arrays that are asked only before and after a run. What it cost cannot be told."""
        told, found = chores_text(case.evidence), case.finding(*_STORAGE)
        if told is None or found is None:
            return None
        return self.advice(
            "A controller or an array was busy with itself beside the run.",
            Change("hardware", "Measure again when that is over. Plan patrol reads and checks for quiet hours."),
            *dict.fromkeys((told, *found.evidence)),
            confidence="medium" if "began and when it ended" in told else "low",
            risk="without these reads, sectors that went bad are found only when a member fails",
            relieves=found,
        )
