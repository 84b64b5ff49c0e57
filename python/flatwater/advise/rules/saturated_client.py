"""A load generator that is busy measures itself."""

from __future__ import annotations

from flatwater.advise.advice import Advice, Change
from flatwater.advise.rule import Case, Rule
from flatwater.analysis.bound.finding import MAIN_MIN


class SaturatedClient(Rule):
    """The load generator bounds the run: what was measured is the client."""

    name = "saturated-client"
    about = "a load generator that takes the sessions' time itself"
    source = "Brendan Gregg, Benchmarking Checklist, 2018: ask what limits the result; it may be the load generator"
    elsewhere = "the server was never asked for all that it can do, so nothing tells what that is"

    def advise(self, case: Case) -> Advice | None:
        """Another machine, or more processors, for the client."""
        found = case.finding("client")
        # A modelled client has no processors that could be too few.
        if found is None or found.share < MAIN_MIN or case.evidence.layers.virtual:
            return None
        return self.advice(
            "The load generator takes a good part of the time itself: the measurement measures the client.",
            Change(
                "measurement",
                "Run the load generator on a machine or on processors of its own, and compare results with the same "
                "client only.",
            ),
            *found.evidence,
            confidence="high",
            relieves=found,
        )
