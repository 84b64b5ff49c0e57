"""A file system that is a poor ground for a database."""

from __future__ import annotations

from flatwater.advise.advice import Advice, Change, Elsewhere
from flatwater.advise.host import mount_options, storage_facts
from flatwater.advise.rule import Case, Rule

_WHY = {
    "ext2": "it has no journal: after a crash it must be checked as a whole",
    "ext3": "it has no extents, and an fsync waits for other files' data too",
    "btrfs": "each page that is written again goes to a new place, and its checksums with it",
}


class FileSystem(Rule):
    """ext2, ext3, or btrfs with copy-on-write, while the storage holds the run back."""

    name = "file-system"
    about = "a file system other than XFS or ext4"
    source = (
        "ext3 against XFS with sync_binlog=1, 2009: 1060 and 2350 transactions a second; btrfs(5), nodatacow: for "
        "files that are overwritten in place"
    )
    elsewhere = Elsewhere(
        2.22,
        2.22,
        "XFS instead of ext3 with sync_binlog = 1, 1060 and 2350 transactions a second",
        "ext3 against XFS (2009)",
    )

    def advise(self, case: Case) -> Advice | None:
        """XFS or ext4."""
        kind = storage_facts(case).get("file_system", "")
        found = case.finding("fsync path", "device latency", "device throughput", "log limit", "free pages")
        if kind not in _WHY or found is None or (kind == "btrfs" and "nodatacow" in mount_options(case)):
            return None
        text = "Put the data on XFS or ext4."
        if kind == "btrfs":
            text += " On btrfs, switch copy-on-write off for the directory before files are made (chattr +C)."
        return self.advice(
            f"The data is on {kind}, and {_WHY[kind]}.",
            Change("host", text),
            *found.evidence,
            confidence="low" if kind == "btrfs" else "medium",
            risk="without copy-on-write btrfs keeps no checksums of the data" if kind == "btrfs" else "",
            relieves=found,
        )
