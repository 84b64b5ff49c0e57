"""A partition that begins between two physical blocks of its device."""

from __future__ import annotations

from flatwater.advise.advice import Advice, Change
from flatwater.advise.host import medium, storage_facts
from flatwater.advise.rule import Case, Rule

#: Pages of flash are 4 KiB or more, whatever the drive says of its sectors.
_FLASH_BYTES = 4096


class Alignment(Rule):
    """A start sector that makes each aligned write two."""

    name = "alignment"
    about = "a partition that does not begin at a multiple of the device's physical block"
    source = (
        "Linux, ABI/stable/sysfs-block, physical_block_size; fdisk(8): partitions begin at 1 MiB since util-linux 2.17"
    )
    elsewhere = "nobody is known to have published a database on both partitions"

    def advise(self, case: Case) -> Advice | None:
        """A partition that begins at 1 MiB."""
        facts = storage_facts(case)
        start = facts.get("partition_start_bytes")
        found = case.finding("fsync path", "device latency", "device throughput", "log limit", "free pages")
        if start is None or found is None:
            return None
        unit = max(facts.get("physical_block_bytes", 512), _FLASH_BYTES if medium(case) == "flash" else 512)
        if start % unit == 0:
            return None
        return self.advice(
            "The partition is not aligned: a block of the file system lies across two of the device.",
            Change(
                "host",
                "Copy the data away, make the partition again at 1 MiB, and copy it back.",
                ("parted --align optimal DISK mkpart primary 1MiB 100%",),
            ),
            f"it begins at byte {start:,} (sector {start // 512}), which is no multiple of {unit:,}",
            *found.evidence,
            confidence="high",
            risk="making a partition again deletes what is on it",
            relieves=found,
        )
