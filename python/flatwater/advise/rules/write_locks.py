"""Writes to one file that wait for each other above the device."""

from __future__ import annotations

from flatwater.advise.advice import Advice, Change, Elsewhere
from flatwater.advise.rule import Case, Rule
from flatwater.analysis.bound.sessions import session_time
from flatwater.experiment import Fileio


class WriteLocks(Rule):
    """A file system does one write at a time of each file, and the device idles behind it."""

    name = "write-locks"
    about = "a file system that does one write at a time of each file"
    source = (
        "PERC5 with six disks in RAID 5, 2008-2011: 142.6 writes a second of 64 threads to one file, 827.9 to 128 "
        "files; Linux, fs/xfs/xfs_file.c: direct writes of whole blocks share the lock of the file"
    )
    elsewhere = Elsewhere(
        1.1,
        5.81,
        "128 files instead of one, 64 threads that write 16 KiB at random places, six disks in RAID 5; 1.1 where the "
        "controller's memory takes the writes",
        "PERC5 with and without battery (2008-2011)",
    )

    def advise(self, case: Case) -> Advice | None:
        """More files, or a file system that lets several writes into one."""
        found, time = case.finding("contention"), session_time(case.evidence)
        experiment = case.evidence.experiment
        workload = experiment.workload if experiment is not None else None
        if found is None or time is None or not time.write_locks or not isinstance(workload, Fileio):
            return None
        return self.advice(
            "Writes to one file wait for each other: the file system lets one at a time pass.",
            Change(
                "host",
                "Use a file system that does several direct writes of a file at once (XFS, or ext4 of today), or "
                "spread the data over more files.",
                (),
                ("storage.exclusive_writes=false",),
            ),
            f"{workload.files} file{'s' * (workload.files > 1)} for {time.sessions:g} requests in flight",
            *found.evidence,
            confidence="high",
            relieves=found,
        )
