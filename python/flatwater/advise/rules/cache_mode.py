"""A cache that writes through does not help writes."""

from __future__ import annotations

from flatwater.advise.advice import Advice, Change, Elsewhere
from flatwater.advise.requests import requests_per_s
from flatwater.advise.rule import Case, Rule
from flatwater.analysis.bound.finding import MAIN_MIN

#: Where fewer of the slow device's requests are writes, writing back would save little (our choice).
_WRITES_MIN_SHARE = 0.3


class CacheMode(Rule):
    """The slow device below a write-through or write-around cache is busy with writes."""

    name = "cache-mode"
    about = "a cache that writes through to a slow device that is busy with writes"
    source = (
        "FlashCache on a FusionIO SLC card in front of RAID 10, tpcc-mysql, 2010: write-through 2 times the disks, "
        "write-back 4 times"
    )
    elsewhere = Elsewhere(
        2.0,
        2.0,
        "write-back instead of write-through, tpcc-mysql, RAID 10 below a FusionIO SLC card; both figures are rounded",
        "FlashCache (2010)",
    )

    def advise(self, case: Case) -> Advice | None:
        """Write-back, with what it risks."""
        cache, device = case.evidence.cache, case.evidence.device
        names = ("device throughput", "device latency", "fsync path", "free pages", "log limit", "cache misses")
        found = case.finding(*names)
        if cache is None or device is None or found is None or found.share < MAIN_MIN:
            return None
        asked = requests_per_s(case.evidence)
        if cache.mode not in ("write-through", "write-around") or asked is None:
            return None
        reads, writes = asked
        if writes < _WRITES_MIN_SHARE * (reads + writes):
            return None
        return self.advice(
            "The slow device is busy with writes that a write-back cache would take.",
            Change("hardware", "Use the cache as a write-back cache.", (), ('cache.mode="write-back"',)),
            f"{writes:,.0f} of the slow device's {reads + writes:,.0f} requests a second were writes",
            *found.evidence,
            confidence="medium",
            risk="DURABILITY: dirty blocks are on the cache device only; use a mirrored one, or one with power-loss "
            "protection",
            relieves=found,
        )
