"""A controller that does not write back: each write waits for the disks."""

from __future__ import annotations

from flatwater.advise.advice import Advice, Change
from flatwater.advise.host import modelled_device
from flatwater.advise.requests import requests_per_s
from flatwater.advise.rule import Case, Rule
from flatwater.experiment.device.raid import RaidDevice

#: Where the cache writes back less often than this, it does not write back.
_NEVER_SHARE = 0.05
#: Where fewer of the requests are writes, the write cache is not what holds the run back (our choice).
_WRITES_MIN_SHARE = 0.1


class ArrayBattery(Rule):
    """An array whose write cache is off all the time."""

    name = "array-battery"
    about = "an array without a battery-backed write cache"
    source = (
        "PERC5 with six disks in RAID 5, 2008-2011: 142.6 writes a second written through, 4,735 written back with a "
        "battery"
    )

    def advise(self, case: Case) -> Advice | None:
        """A battery, or a cache that flash protects."""
        device = case.evidence.device
        found = case.finding("fsync path", "device throughput", "device latency", "log limit", "free pages")
        asked = requests_per_s(case.evidence)
        if device is None or device.write_back is None or found is None or asked is None:
            return None
        reads, writes = asked
        if device.write_back.mean >= _NEVER_SHARE or writes < _WRITES_MIN_SHARE * (reads + writes):
            return None
        array = modelled_device(case.evidence)
        has_memory = isinstance(array, RaidDevice) and array.cache is not None
        return self.advice(
            "The array's controller writes through: each write waits for the disks.",
            Change(
                "hardware",
                "Fit the controller's battery (or its flash-backed cache), and switch write-back on.",
                (),
                ("storage.parameters.controller.battery=true",) if has_memory else (),
            ),
            f"its write cache was on in {100 * device.write_back.mean:.0f} % of the time",
            f"{writes:,.0f} of {reads + writes:,.0f} requests a second were writes",
            *found.evidence,
            confidence="high",
            risk="write-back without a working battery loses what was acknowledged when the power fails",
            relieves=found,
        )
