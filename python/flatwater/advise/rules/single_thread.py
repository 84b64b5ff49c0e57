"""Few sessions that use one core each, while other cores are idle."""

from __future__ import annotations

from flatwater.advise.advice import Advice, Change
from flatwater.advise.rule import Case, Rule
from flatwater.analysis.bound.finding import MAIN_MIN
from flatwater.analysis.bound.processors import processors
from flatwater.analysis.bound.words import counted, figure

#: So much of a core must be idle that another session could have run on it.
_IDLE_MIN_CORES = 0.75
#: Sessions that wait for a processor for a larger share of its use lack cores, not speed.
_WAIT_MAX_SHARE = 0.2


class SingleThread(Rule):
    """The speed of one core bounds the run, and not their number."""

    name = "single-thread"
    about = "sessions that are bound by the speed of one core while others are idle"
    source = "MySQL manual, Connection Interfaces: each connection has one thread, which executes its statements"
    elsewhere = "it grows with the sessions as far as there are idle cores"

    def advise(self, case: Case) -> Advice | None:
        """More sessions at once, or faster cores."""
        # A modelled client has its round trips, and no processor that could be too slow.
        names = ("CPU", "client") if case.evidence.layers.virtual else ("CPU",)
        found, used = case.finding(*names), processors(case.evidence)
        if found is None or found.share < MAIN_MIN or used is None or used.idle is None or not used.cores:
            return None
        left, waited = used.idle * used.cores, used.time.cpu_wait
        if left < _IDLE_MIN_CORES or waited is None or waited > _WAIT_MAX_SHARE * max(used.server, 1e-9):
            return None
        # With more sessions than cores something else keeps the cores idle.
        if used.time.sessions > used.cores:
            return None
        return self.advice(
            "Each session is bound by the speed of its one core, while other cores are idle."
            if found.name == "CPU"
            else "Each session waits for its own round trips, while cores are idle.",
            Change(
                "workload",
                "Spread the work over more connections. For one connection alone only faster cores or cheaper "
                "statements help, and more cores do not.",
            ),
            f"{figure(left)} of {used.cores} cores were idle, and {counted(used.time.sessions, 'session')} worked",
            *found.evidence,
            confidence="medium",
            relieves=found,
        )
