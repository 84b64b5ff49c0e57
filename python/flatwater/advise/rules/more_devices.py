"""A device that does all that it can."""

from __future__ import annotations

from flatwater.advise.advice import Advice, Change, Elsewhere
from flatwater.advise.host import medium
from flatwater.advise.requests import syncs_logs
from flatwater.advise.rule import Case, Rule
from flatwater.advise.rules.volume_credits import credits_spent
from flatwater.analysis.bound.finding import MAIN_MIN
from flatwater.analysis.bound.storage_time import fullest_own, is_cache, waited_for


class MoreDevices(Rule):
    """The device's throughput bounds the run."""

    name = "more-devices"
    about = "a device that does all that it can"
    source = "Gray and Shenoy, Rules of Thumb in Data Engineering, ICDE 2000: buy disks for accesses, not for bytes"
    elsewhere = Elsewhere(
        1.96,
        1.96,
        "two striped modules of an Intel SSD 910 instead of one, many random reads of 16 KiB at once",
        "Intel SSD 910 (2012)",
    )

    def advise(self, case: Case) -> Advice | None:
        """More members, or a device that does more at once; after whatever saves requests."""
        found, (device, _) = case.finding("device throughput"), waited_for(case.evidence)
        if found is None or found.share < MAIN_MIN or device is None or credits_spent(device):
            return None
        if fullest_own(case.evidence) is not None:
            return None  # the full device is that of a part: `slow-part`
        missed = case.finding("cache misses", "free pages")
        if missed is not None and missed.share >= MAIN_MIN:
            # The requests are pages that memory lacks, or blocks that a flash cache lacks or has not read yet. More of
            # either saves them: their own rules say so.
            return None
        synced = case.finding("fsync path")
        if synced is not None and synced.share >= MAIN_MIN and syncs_logs(case.evidence):
            # The syncs of a log come one after another. No more of them are done on more devices.
            return None
        if is_cache(case.evidence, device):
            text = "Put the flash cache on a card that does more requests at once, or stripe it over several."
        elif medium(case) == "disks":
            text = "Put the data on flash, or spread it over more disks. More memory saves the reads."
        elif device.kind == "volume":
            text = "Buy more requests and bytes a second of the volume, or stripe several."
        else:
            text = "Stripe the data over more drives, or use one that does more requests at once."
        return self.advice(
            "The storage does all that it can.",
            Change(
                "hardware", f"{text} First see whether a setting saves requests: advice on settings stands here too."
            ),
            *found.evidence,
            confidence="medium",
            relieves=found,
        )
