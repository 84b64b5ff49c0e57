"""Disks that are read because memory is too small: a flash cache in front, or the tables on flash."""

from __future__ import annotations

from flatwater.advise.advice import Advice, Change, Elsewhere
from flatwater.advise.host import medium
from flatwater.advise.rule import Case, Rule
from flatwater.analysis.bound.finding import MAIN_MIN
from flatwater.analysis.bound.words import each_second


class FlashCache(Rule):
    """Misses of the buffer pool go to disks, and no cache is in front of them."""

    name = "flash-cache"
    about = "disks without a flash cache, below a pool that is too small"
    source = (
        "FlashCache on a FusionIO SLC card in front of RAID 10, tpcc-mysql, 2010: 2 times the disks with "
        "write-through, 4 times with write-back"
    )
    elsewhere = Elsewhere(
        2.0,
        4.0,
        "a cache of 80 GB in front of RAID 10 for 100 GB of data, tpcc-mysql; both figures are rounded",
        "FlashCache (2010)",
    )

    def advise(self, case: Case) -> Advice | None:
        """A cache of flash, if the working set fits it and not the memory."""
        evidence = case.evidence
        found = case.finding("cache misses", "free pages", "device throughput", "device latency")
        database = evidence.database
        if evidence.cache is not None or database is None or database.pages_read_per_s is None:
            return None
        missed = case.finding("cache misses", "free pages")
        if found is None or found.share < MAIN_MIN or missed is None or medium(case) != "disks":
            return None
        return self.advice(
            "Pages that do not fit the buffer pool are read from disks.",
            Change(
                "hardware",
                "If the working set fits a flash drive and not the memory, put a flash cache in front of the disks, or "
                "the hot tables on flash. If it fits the memory, memory is the better buy.",
            ),
            each_second(database.pages_read_per_s, "pages read"),
            *found.evidence,
            confidence="medium",
            risk="a write-back cache holds data that the disks lack: it must survive a power failure",
            relieves=found,
        )
