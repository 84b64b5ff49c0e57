"""Sessions that wait for answers of a device that is not full: only a faster one shortens each wait."""

from __future__ import annotations

from flatwater.advise.advice import Advice, Change, Elsewhere
from flatwater.advise.host import medium
from flatwater.advise.rule import Case, Rule
from flatwater.analysis.bound.finding import MAIN_MIN
from flatwater.analysis.bound.storage_time import is_cache, waited_for
from flatwater.analysis.bound.words import percent


class FasterDevice(Rule):
    """The device's latency bounds the run."""

    name = "faster-device"
    about = "a device whose every answer takes its time"
    source = "Everything on SSDs against disks, 2008-2011: 5 to 7 times as much; Amdahl's law for the upper limit"
    elsewhere = Elsewhere(
        5.0,
        7.0,
        "everything on SSDs instead of disks",
        "Everything on SSDs against disks (2008-2011)",
    )

    def advise(self, case: Case) -> Advice | None:
        """The next faster kind of device."""
        found, (device, _) = case.finding("device latency"), waited_for(case.evidence)
        if found is None or found.share < MAIN_MIN or device is None or device.kind == "memory":
            return None
        of_cache = is_cache(case.evidence, device)
        on_disks = medium(case) == "disks" and not of_cache
        if of_cache:
            text = "Put the flash cache on a card with a lower latency."
        elif on_disks:
            text = "Put the data on flash: a disk needs milliseconds for a random read, and flash needs about 0.1 ms."
        elif device.kind == "volume":
            text = "Use a volume class with a lower latency, or a drive in the machine itself."
        else:
            text = (
                "Use storage with a lower latency: a drive in the machine instead of a network, NVMe instead of SATA."
            )
        most = (
            f": without it the run would do at most {1 / (1 - found.share):.3g} times as much"
            if found.share < 1
            else ""
        )
        return self.advice(
            "Sessions wait for the storage, which could do more: each answer takes its time.",
            Change("hardware", text),
            *found.evidence,
            f"{percent(found.share)} of the sessions' time is spent there{most}",
            confidence="high" if on_disks else "medium",
            relieves=found,
            elsewhere=None if on_disks else "what was published is about disks and SSDs",
        )
