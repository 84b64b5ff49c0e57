"""Who used the machine's processors, and who waited for them.

What sessions waited for a processor is shared out by who had the processors meanwhile: a run queue does not ask whose
thread it holds up. The parts are the server's own, the load generator's, and those of others.
"""

from __future__ import annotations

from dataclasses import dataclass

from flatwater.analysis.bound.evidence import Evidence
from flatwater.analysis.bound.sessions import SessionTime, client_cores, cores_used, session_time
from flatwater.experiment.database.innodb import InnodbModel


@dataclass(frozen=True)
class Processors:
    """Cores that each one used, on average; `others` are those that are nobody's of this run."""

    cores: int | None
    server: float
    client: float
    #: Of programs that flatwater started beside the server: a served device, a cache.
    helpers: float
    others: float
    #: Cores that the hypervisor gave to other machines.
    stolen: float
    #: Share of the processors' time in which they had nothing to do; None if it was not recorded.
    idle: float | None
    time: SessionTime

    def waited(self, used: float) -> float:
        """Sessions that waited for a processor because of who used so many cores."""
        whole = self.server + self.client + self.helpers + self.others + self.stolen
        return (self.time.cpu_wait or 0.0) * used / whole if whole > 0 else 0.0

    @property
    def busy_text(self) -> str | None:
        """How busy the machine was; None if it was not recorded."""
        if self.idle is None or self.cores is None:
            return None
        many = f"{self.cores} cores were" if self.cores != 1 else "only core was"
        return f"the machine's {many} idle for {100 * self.idle:.0f} % of the time"


def processors(evidence: Evidence) -> Processors | None:
    """None where not even the number of sessions is known."""
    time = session_time(evidence)
    if time is None:
        return None
    machine, database = evidence.machine, evidence.database
    server = (cores_used(database) or 0.0) if database is not None else 0.0
    # What other hosts use is nothing of this machine's.
    client = (client_cores(evidence) or 0.0) if not evidence.load.hosts else 0.0
    if evidence.layers.virtual:
        # Nobody counts what an emulator takes of a modelled machine's cores.
        known = machine.cores is not None and not _has_emulator(evidence)
        idle = max(0.0, 1 - server / machine.cores) if known and machine.cores else None
        return Processors(machine.cores, server, 0.0, 0.0, 0.0, 0.0, idle, time)
    # What flatwater started is no neighbour; a server that ran already is not among it.
    children = machine.children_pct.mean / 100 if machine.children_pct is not None else server
    attached = evidence.experiment is not None and getattr(evidence.experiment.database, "attached", False)
    helpers = children if attached else max(0.0, children - server)
    others = machine.others_pct.mean / 100 - server - helpers if machine.others_pct is not None else 0.0
    stolen = machine.cpu_steal_pct.mean / 100 * (machine.cores or 0) if machine.cpu_steal_pct is not None else 0.0
    parts = (machine.cpu_idle_pct, machine.cpu_iowait_pct)
    idle = sum(one.mean for one in parts if one is not None) / 100 if machine.cpu_idle_pct is not None else None
    return Processors(machine.cores, server, client, helpers, max(0.0, others), stolen, idle, time)


def _has_emulator(evidence: Evidence) -> bool:
    asked = evidence.experiment.database if evidence.experiment is not None else None
    return isinstance(asked, InnodbModel) and bool(asked.cpu.request_us)
