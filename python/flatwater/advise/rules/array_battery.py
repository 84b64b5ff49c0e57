"""A controller that does not write back: each write waits for the disks.

A model tells when its cache writes back. A real controller is asked for its battery before and after the run.
"""

from __future__ import annotations

from flatwater.advise.advice import Advice, Change, Elsewhere
from flatwater.advise.host import modelled_device
from flatwater.advise.requests import requests_per_s
from flatwater.advise.rule import Case, Rule
from flatwater.analysis.bound.below import battery_text, unprotected
from flatwater.analysis.bound.words import percent
from flatwater.experiment.device.raid import RaidDevice

_CHANGE = "Fit the controller's battery (or its flash-backed cache), and switch write-back on."
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
    elsewhere = Elsewhere(
        6.31,
        33.2,
        "writes of 16 KiB that fit the controller's memory, six disks in RAID 5, one to 64 threads; far less "
        "where they do not fit",
        "PERC5 with and without battery (2008-2011)",
    )

    def advise(self, case: Case) -> Advice | None:
        """A battery, or a cache that flash protects."""
        found = case.finding("fsync path", "device throughput", "device latency", "log limit", "free pages")
        asked, told = requests_per_s(case.evidence), _cache_off(case)
        if found is None or asked is None or told is None:
            return None
        reads, writes = asked
        if writes < _WRITES_MIN_SHARE * (reads + writes):
            return None
        finding, evidence, certain = told
        return self.advice(
            finding,
            Change("hardware", _CHANGE, (), _overrides(case)),
            *dict.fromkeys(
                (evidence, f"{writes:,.0f} of {reads + writes:,.0f} requests a second were writes", *found.evidence)
            ),
            confidence="high" if certain else "medium",
            risk="write-back without a working battery loses what was acknowledged when the power fails",
            relieves=found,
        )


def _cache_off(case: Case) -> tuple[str, str, bool] | None:
    """The finding, its evidence, and whether it is certain; None where the cache writes back, or nobody tells."""
    back = case.evidence.device.write_back if case.evidence.device is not None else None
    if back is not None:
        finding = "The array's controller writes through: each write waits for the disks."
        told = f"its write cache was on in {percent(back.mean)} of the time"
        return (finding, told, True) if back.mean < _NEVER_SHARE else None
    if not unprotected(case.evidence, "missing", "replace"):
        return None
    finding = "The array's controller has no working battery: unless it is forced to write back, writes wait for disks."
    return finding, battery_text(case.evidence) or "", False


def _overrides(case: Case) -> tuple[str, ...]:
    array = modelled_device(case.evidence)
    has_memory = isinstance(array, RaidDevice) and array.cache is not None
    return ("storage.parameters.controller.battery=true",) if has_memory else ()
