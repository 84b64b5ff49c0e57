"""What else runs on the machine, or on the host of a virtual one."""

from __future__ import annotations

from flatwater.advise.advice import Advice, Change
from flatwater.advise.rule import Case, Rule
from flatwater.analysis.bound.processors import processors

#: Under a hundredth of a core, steal is the hypervisor's own housekeeping (our choice).
_STOLEN_MIN_CORES = 0.01


class NoisyNeighbour(Rule):
    """Others take processors or storage from the run."""

    name = "noisy-neighbour"
    about = "other processes, or other machines of the host, that take processors or storage"
    source = "proc(5), /proc/stat and /proc/diskstats: steal is time that a hypervisor gave to other machines"
    elsewhere = "the evidence has what the others took; how much of it this run can use differs"

    def advise(self, case: Case) -> Advice | None:
        """Move it away, or measure when it is quiet."""
        found = case.finding("neighbour")
        if found is None:
            return None
        used = processors(case.evidence)
        stolen = used is not None and used.stolen >= max(_STOLEN_MIN_CORES, used.others)
        text = (
            "Measure on a host that others do not use: a dedicated instance, or processors that are pinned to this one."
            if stolen
            else "Stop or move what else runs on this machine, or measure when it is quiet; `pidstat -ud 5` names it."
        )
        return self.advice(
            "Something else uses the machine: part of the time is not this run's.",
            Change("measurement", text),
            *found.evidence,
            confidence="high",
            relieves=found,
        )
