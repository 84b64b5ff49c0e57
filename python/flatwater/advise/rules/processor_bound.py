"""All processors are busy with the server."""

from __future__ import annotations

from flatwater.advise.advice import Advice, Change
from flatwater.advise.rule import Case, Rule
from flatwater.analysis.bound.finding import MAIN_MIN
from flatwater.analysis.bound.processors import processors

#: With a tenth or more idle, more cores would be idle too.
_IDLE_MAX = 0.1
#: More sessions than so many for each core cannot run, and switch instead (our choice, far above what hides waits).
_SESSIONS_PER_CORE = 8


class ProcessorBound(Rule):
    """The server's processors bound the run."""

    name = "processor-bound"
    about = "a server that uses all processors"
    source = "MySQL manual, Optimizing SQL Statements, and Configuring Thread Concurrency for InnoDB; Little's law"
    elsewhere = "it depends on the statements, and on the processors that are bought"

    def advise(self, case: Case) -> Advice | None:
        """Cheaper statements, then more or faster cores; fewer connections where far too many compete."""
        found, used = case.finding("CPU"), processors(case.evidence)
        if found is None or found.share < MAIN_MIN or used is None or used.idle is None or not used.cores:
            return None
        if used.idle >= _IDLE_MAX or used.server < max(used.client, used.others + used.stolen):
            return None
        crowded = used.time.sessions > _SESSIONS_PER_CORE * used.cores
        text = "Make the most frequent statements cheaper first (indexes, fewer rows); then use more or faster cores."
        if crowded:
            text += f" Use fewer connections: {used.time.sessions:,.0f} compete for {used.cores} cores."
        return self.advice(
            "The server uses all processors.",
            Change("hardware", text),
            *found.evidence,
            confidence="medium",
            relieves=found,
        )
