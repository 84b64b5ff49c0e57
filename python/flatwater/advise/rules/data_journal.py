"""A file system that writes data into its journal first."""

from __future__ import annotations

from flatwater.advise.advice import Advice, Change
from flatwater.advise.host import mount_options, storage_facts
from flatwater.advise.rule import Case, Rule

#: Where fewer of the bytes are written, writing them twice hardly counts (our choice).
_WRITES_MIN_SHARE = 0.1


class DataJournal(Rule):
    """ext3 or ext4 with data=journal below a database that has a log of its own."""

    name = "data-journal"
    about = "ext4 or ext3 mounted with data=journal"
    source = "Linux, Documentation/admin-guide/ext4.rst, data=journal: no delayed allocation, no O_DIRECT"
    elsewhere = "nobody is known to have published a database with both kinds of journal"

    def advise(self, case: Case) -> Advice | None:
        """The default, data=ordered: InnoDB recovers its pages itself."""
        kind = storage_facts(case).get("file_system", "")
        device = case.evidence.device
        if kind not in ("ext3", "ext4") or "data=journal" not in mount_options(case) or device is None:
            return None
        found = case.finding("fsync path", "device throughput", "device latency", "log limit", "free pages")
        read, written = (
            one.mean if one is not None else 0.0 for one in (device.read_bytes_per_s, device.write_bytes_per_s)
        )
        if found is None or written < _WRITES_MIN_SHARE * (read + written):
            return None
        return self.advice(
            f"The file system writes all data twice: {kind} is mounted with data=journal.",
            Change("host", "Mount it with data=ordered, which is the default.", ("data=ordered  # in /etc/fstab",)),
            *found.evidence,
            confidence="high",
            risk="data=ordered protects the file system's structure; InnoDB's log and doublewrite protect its pages",
            relieves=found,
        )
