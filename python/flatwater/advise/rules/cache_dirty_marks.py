"""A write-back cache that stands at its dirty mark, and writes back all the time."""

from __future__ import annotations

from flatwater.advise.advice import Advice, Change, Elsewhere
from flatwater.advise.rule import Case, Rule

#: What the published measurements went up to.
_HIGH_PCT = 80


class CacheDirtyMarks(Rule):
    """The cache's dirty mark bounds the run."""

    name = "cache-dirty-marks"
    about = "a write-back cache at its dirty mark"
    source = (
        "FlashCache on a FusionIO SLC card in front of RAID 10, 2010: 80 % dirty gave 4 times the disks, 20 % less; "
        "FlashCache against Virident vCache, 2013: 10 % was slower than 50 %"
    )
    elsewhere = Elsewhere(
        1.0,
        2.0,
        "80 % of the cache may be dirty instead of 20 %, tpcc-mysql, RAID 10 below a FusionIO SLC card",
        "FlashCache (2010)",
    )

    def advise(self, case: Case) -> Advice | None:
        """A higher mark: blocks that are written again are written back once."""
        found, cache = case.finding("cache destaging"), case.evidence.cache
        if found is None or cache is None or cache.dirty_high_pct is None or cache.mode == "write-through":
            return None
        high = cache.dirty_high_pct.mean
        if high >= _HIGH_PCT:
            return None
        return self.advice(
            f"The cache writes back at its dirty mark of {high:g} %.",
            Change(
                "hardware",
                f"Let {_HIGH_PCT} % of the cache be dirty. If it then stands at that mark too, the disks below take "
                "less than is written: they need more spindles.",
                (),
                (f"cache.dirty_high_pct={_HIGH_PCT}",),
            ),
            *found.evidence,
            confidence="medium",
            risk="DURABILITY: more data is on the cache device only, and is lost with it; flushing it takes longer",
            relieves=found,
        )
