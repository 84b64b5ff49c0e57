"""A kernel that reads ahead of random reads."""

from __future__ import annotations

from flatwater.advise.advice import Advice, Change
from flatwater.advise.host import disk_name, storage_facts
from flatwater.advise.rule import Case, Rule
from flatwater.analysis.bound.words import size

#: The kernel's own default (VM_READAHEAD_PAGES, include/linux/mm.h).
_DEFAULT_BYTES = 128 << 10
#: Twice as much from the device as was asked for is not chance.
_TIMES = 2.0


class ReadAhead(Rule):
    """The device reads far more than the server asks for, through the page cache."""

    name = "read-ahead"
    about = "a kernel that reads ahead of random reads"
    source = (
        "Linux, ABI/stable/sysfs-block, read_ahead_kb; MySQL manual, innodb_flush_method: O_DIRECT has no page cache"
    )
    elsewhere = "it depends on how much of what is read ahead was used"

    def advise(self, case: Case) -> Advice | None:
        """A small one: random readers use nothing of it."""
        ahead = storage_facts(case).get("read_ahead_bytes")
        device, database, load = case.evidence.device, case.evidence.database, case.evidence.load
        found = case.finding("device throughput", "device latency", "cache misses")
        if ahead is None or ahead <= _DEFAULT_BYTES or found is None or device is None:
            return None
        asked = database.data_read_bytes_per_s if database is not None else load.read_bytes_per_s
        if asked is None or device.read_bytes_per_s is None or asked.mean <= 0:
            return None
        if device.read_bytes_per_s.mean < _TIMES * asked.mean:
            return None
        line = f"blockdev --setra 256 /dev/{disk_name(case)}"
        return self.advice(
            "The kernel reads ahead, and nobody uses what it reads.",
            Change("host", "Read ahead 128 KiB at most, or open the files with O_DIRECT.", (line,)),
            f"the device read {size(device.read_bytes_per_s.mean)} a second, and {size(asked.mean)} were asked for; "
            f"the kernel reads {size(ahead)} ahead",
            *found.evidence,
            confidence="medium",
            relieves=found,
        )
