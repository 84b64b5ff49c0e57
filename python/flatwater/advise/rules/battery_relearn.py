"""A battery that relearns: the controller writes through for hours."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from flatwater.advise.advice import Advice, Change
from flatwater.advise.chores import Slowed, events_without, slowed
from flatwater.advise.requests import requests_per_s
from flatwater.advise.rule import Case, Rule
from flatwater.analysis.bound.below import battery_text, unprotected

#: Shares of the time between which the cache went off and came back, rather than being off or on for good.
_ON_MIN, _ON_MAX = 0.05, 0.95
#: Where fewer of the requests are writes, the write cache is not what holds the run back (our choice).
_WRITES_MIN_SHARE = 0.1
_CHANGE = (
    "Plan the relearn for quiet hours, or use a controller whose cache is saved to flash by a capacitor: it needs no "
    "relearn."
)
_COMMANDS = ("MegaCli64 -AdpBbuCmd -GetBbuProperties -aALL", "storcli64 /cALL/bbu show all")


class BatteryRelearn(Rule):
    """The write cache went off for a part of the run, and the run was slower meanwhile."""

    name = "battery-relearn"
    about = "a controller's battery that relearns while the database works"
    source = "Dell PERC controllers, 2008-2011: no write-back while the battery relearns, 7 hours every 3 months"
    elsewhere = "the evidence has what it cost this run meanwhile"

    def advise(self, case: Case) -> Advice | None:
        """Plan it for quiet hours."""
        device = case.evidence.device
        on = device.write_back if device is not None else None
        if on is None:
            return self._of_controller(case)
        if not _ON_MIN <= on.mean <= _ON_MAX:
            return None
        told: Slowed | None = slowed(case.evidence, np.nan_to_num(on.value, nan=1.0) < 1)
        if told is None:
            return None
        advice = self.advice(
            "The array stopped writing back for a part of the run, as it does while its battery relearns.",
            Change(
                "hardware",
                _CHANGE,
                _COMMANDS,
                events_without(case.evidence, "relearn"),
            ),
            told.text("the write cache was off"),
            confidence="high",
        )
        return replace(advice, share=told.share)

    def _of_controller(self, case: Case) -> Advice | None:
        """Of a real controller, which is asked before and after the run; how it was between, nobody tells."""
        found = case.finding("fsync path", "device throughput", "device latency", "log limit", "free pages")
        asked, told = requests_per_s(case.evidence), battery_text(case.evidence)
        if found is None or asked is None or told is None or not unprotected(case.evidence, "learning"):
            return None
        reads, writes = asked
        if writes < _WRITES_MIN_SHARE * (reads + writes):
            return None
        return self.advice(
            "The controller's battery relearned, and its write cache may have been off meanwhile.",
            Change("hardware", f"Measure again when it has learned. {_CHANGE}", _COMMANDS),
            *dict.fromkeys((told, *found.evidence)),
            confidence="medium",
            relieves=found,
        )
