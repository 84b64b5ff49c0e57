"""A scheduler that is made for desktops, between the server and its storage."""

from __future__ import annotations

from flatwater.advise.advice import Advice, Change, Elsewhere
from flatwater.advise.host import disk_name, medium, scheduler
from flatwater.advise.rule import Case, Rule

#: They wait for the next request of the same process, and share time among processes.
_FAIR = ("bfq", "cfq", "anticipatory")
#: Of the single-queue kernels, whose `none` is called noop.
_OLD = ("cfq", "anticipatory")


class IoScheduler(Rule):
    """A fair-queueing scheduler, while sessions wait for the storage."""

    name = "io-scheduler"
    about = "a fair-queueing IO scheduler (bfq, cfq) below a database"
    source = "Red Hat Enterprise Linux 8, Setting the disk scheduler: none for fast storage, bfq targets desktops"
    elsewhere = Elsewhere(
        1.85,
        3.04,
        "deadline or noop instead of cfq, tpcc-mysql on arrays of two to eight disks",
        "Percona, Linux schedulers in tpcc like benchmark (2009); Are you using the deadline scheduler? "
        "(ralpartha.blogspot.com, 2010-2011)",
    )

    def advise(self, case: Case) -> Advice | None:
        """None on flash, a deadline on disks."""
        now, found = scheduler(case), case.finding("device latency", "device throughput", "fsync path")
        if now not in _FAIR or found is None:
            return None
        if medium(case) == "flash":
            better = "noop" if now in _OLD else "none"
        else:
            better = "deadline" if now in _OLD else "mq-deadline"
        line = f"echo {better} > /sys/block/{disk_name(case)}/queue/scheduler"
        return self.advice(
            f"The IO scheduler {now} shares the device fairly among processes, at the cost of its latency.",
            Change("host", f"Use the scheduler {better}; a udev rule keeps it after a reboot.", (line,)),
            f"the scheduler of {disk_name(case)} is {now}",
            *found.evidence,
            confidence="high" if medium(case) == "flash" else "medium",
            relieves=found,
        )
