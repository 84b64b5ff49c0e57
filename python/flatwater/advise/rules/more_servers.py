"""One server that can use neither the card nor the processors: several servers beside each other."""

from __future__ import annotations

from flatwater.advise.advice import Advice, Change, Elsewhere
from flatwater.advise.inside import contention_inside, processors_idle
from flatwater.advise.rule import Case, Rule
from flatwater.advise.storage import busy_text, device_idles
from flatwater.analysis.bound.processors import processors
from flatwater.experiment.database import InnodbModel, Server

#: Two, and one more if it helped: four gave no more than two on many of the published rows.
_SERVERS = 2


class MoreServers(Rule):
    """Sessions wait for each other, device and processors idle: two servers."""

    name = "more-servers"
    about = "one server whose own locks keep it from using the device and the processors"
    source = "MySQL Performance Blog, Multiple MySQL instances on Fusion-io ioDrive (2011)"
    elsewhere = Elsewhere(
        1.5,
        6.0,
        "two servers instead of one, 144 GB of memory and 48 cores",
        "Multiple MySQL instances on Fusion-io ioDrive (2011)",
    )

    def advise(self, case: Case) -> Advice | None:
        """Two servers, each with half of the data and of the memory."""
        found, database = contention_inside(case), case.evidence.database
        if found is None or database is None or database.servers > 1:
            return None
        if not device_idles(case.evidence) or not processors_idle(case.evidence):
            return None
        used = processors(case.evidence)
        text = (
            f"Run {_SERVERS} servers on the machine, each with its part of the data and of the memory, if the data can "
            "be divided."
        )
        return self.advice(
            "One server can use neither the device nor the processors: its sessions wait for each other.",
            Change("host", text, (), _overrides(case)),
            *found.evidence,
            busy_text(case.evidence),
            used.busy_text if used is not None else None,
            confidence="medium",
            risk="transactions cannot span both servers, and there are two of them to run and to back up",
            relieves=found,
        )


def _overrides(case: Case) -> tuple[str, ...]:
    """As an experiment says it; empty where it cannot: a server that runs already is one."""
    asked = case.evidence.experiment.database if case.evidence.experiment is not None else None
    if isinstance(asked, InnodbModel):
        return (f"database.servers={_SERVERS}",)
    if isinstance(asked, Server) and not asked.attached:
        return (f"database.instances={_SERVERS}",)
    return ()
