"""A file system that does not flush a cache that is lost with the power."""

from __future__ import annotations

from flatwater.advise.advice import Advice, Change
from flatwater.advise.host import mount_options, storage_facts
from flatwater.advise.rule import Case, Rule

_OFF = frozenset({"nobarrier", "barrier=0"})


class WriteBarriers(Rule):
    """nobarrier above a volatile write cache: a danger, and no matter of speed."""

    name = "write-barriers"
    about = "a mount without barriers above a volatile write cache"
    source = "mount(8) and ext4(5), barrier=0; Linux, Documentation/block/writeback_cache_control.rst"
    elsewhere = "it makes the data safe; commits become slower by as much as the drive's flush takes"

    def advise(self, case: Case) -> Advice | None:
        """Barriers on: a drive with a safe cache makes them cheap by itself."""
        if not mount_options(case) & _OFF or storage_facts(case).get("write_cache") != "write back":
            return None
        return self.advice(
            "DURABILITY: syncs do not reach the flash or the disk: barriers are off above a volatile write cache.",
            Change(
                "host", "Mount it with barriers, which are the default.", ("mount -o remount,barrier=1 MOUNTPOINT",)
            ),
            "the mount has no barriers, and the kernel says that the device's write cache is write-back",
            confidence="high",
            risk="commits become as slow as the device's flush really is; a drive with power-loss protection has none",
        )
