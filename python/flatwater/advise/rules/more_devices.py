"""A device that does all that it can."""

from __future__ import annotations

from flatwater.advise.advice import Advice, Change
from flatwater.advise.host import medium
from flatwater.advise.rule import Case, Rule
from flatwater.advise.rules.volume_credits import credits_spent
from flatwater.analysis.bound.finding import MAIN_MIN


class MoreDevices(Rule):
    """The device's throughput bounds the run."""

    name = "more-devices"
    about = "a device that does all that it can"
    source = "Gray and Shenoy, Rules of Thumb in Data Engineering, ICDE 2000: buy disks for accesses, not for bytes"

    def advise(self, case: Case) -> Advice | None:
        """More members, or a device that does more at once; after whatever saves requests."""
        found, device = case.finding("device throughput"), case.evidence.device
        if found is None or found.share < MAIN_MIN or device is None or credits_spent(device):
            return None
        missed = case.finding("cache misses", "free pages")
        if case.evidence.database is not None and missed is not None and missed.share >= MAIN_MIN:
            # The requests are pages that memory lacks. More memory, or a cache, saves them: their own rules say so.
            return None
        if medium(case) == "disks":
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
