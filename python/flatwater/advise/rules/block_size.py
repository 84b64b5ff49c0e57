"""A file system whose blocks are smaller than what the device writes at once."""

from __future__ import annotations

from flatwater.advise.advice import Advice, Change
from flatwater.advise.host import storage_facts
from flatwater.advise.rule import Case, Rule

#: The block of present file systems, and the physical sector of present drives.
_BLOCK_BYTES = 4096
#: File systems whose block is chosen when they are made, and told by statvfs(3).
_KINDS = ("ext2", "ext3", "ext4", "xfs")


class BlockSize(Rule):
    """Blocks under 4 KiB."""

    name = "block-size"
    about = "a file system with blocks under 4 KiB"
    source = (
        "mke2fs(8), -b; Linux, ABI/stable/sysfs-block, physical_block_size: the smallest unit that is written without "
        "reading first"
    )
    elsewhere = "nobody is known to have published a database on both block sizes"

    def advise(self, case: Case) -> Advice | None:
        """4 KiB, as mkfs makes it for all but small file systems."""
        facts = storage_facts(case)
        block, kind = facts.get("file_system_block_bytes"), facts.get("file_system", "")
        found = case.finding("fsync path", "device latency", "device throughput", "log limit", "free pages")
        if block is None or kind not in _KINDS or found is None or block >= _BLOCK_BYTES:
            return None
        physical = facts.get("physical_block_bytes", 0)
        line = "mkfs.xfs -b size=4096 DEVICE" if kind == "xfs" else f"mkfs.{kind} -b 4096 DEVICE"
        return self.advice(
            f"The file system has blocks of {block:,} bytes: a page of the database is many of them.",
            Change("host", "Make the file system again with blocks of 4 KiB, and copy the data.", (line,)),
            f"{kind} has blocks of {block:,} bytes"
            + (f", and the device's physical ones have {physical:,}" if physical > block else ""),
            *found.evidence,
            confidence="high" if physical > block else "medium",
            risk="making a file system deletes what is on it",
            relieves=found if physical > block else None,
        )
