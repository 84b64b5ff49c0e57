"""A battery that relearns: the controller writes through for hours."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from flatwater.advise.advice import Advice, Change
from flatwater.advise.chores import Slowed, events_without, slowed
from flatwater.advise.rule import Case, Rule

#: Shares of the time between which the cache went off and came back, rather than being off or on for good.
_ON_MIN, _ON_MAX = 0.05, 0.95


class BatteryRelearn(Rule):
    """The write cache went off for a part of the run, and the run was slower meanwhile."""

    name = "battery-relearn"
    about = "a controller's battery that relearns while the database works"
    source = "Dell PERC controllers, 2008-2011: no write-back while the battery relearns, 7 hours every 3 months"

    def advise(self, case: Case) -> Advice | None:
        """Plan it for quiet hours."""
        device = case.evidence.device
        on = device.write_back if device is not None else None
        if on is None or not _ON_MIN <= on.mean <= _ON_MAX:
            return None
        told: Slowed | None = slowed(case.evidence, np.nan_to_num(on.value, nan=1.0) < 1)
        if told is None:
            return None
        advice = self.advice(
            "The array stopped writing back for a part of the run, as it does while its battery relearns.",
            Change(
                "hardware",
                "Plan the relearn for quiet hours, or use a controller whose cache is saved to flash by a capacitor: "
                "it needs no relearn.",
                ("MegaCli64 -AdpBbuCmd -GetBbuProperties -aALL", "storcli64 /cALL/bbu show all"),
                events_without(case.evidence, "relearn"),
            ),
            told.text("the write cache was off"),
            confidence="high",
        )
        return replace(advice, share=told.share)
