"""An array that lacks a member: slower, and one failure nearer to the loss of its data."""

from __future__ import annotations

from dataclasses import replace

from flatwater.advise.advice import Advice, Change
from flatwater.advise.chores import events_without, slowed
from flatwater.advise.rule import Case, Rule
from flatwater.analysis.bound.below import degraded
from flatwater.results.started import shell_word

#: What a run waits for where an array with fewer members is in its way.
_STORAGE = ("device throughput", "device latency", "cache misses", "fsync path", "free pages", "log limit")
#: How each kind of array is asked for its members.
_ASK = {"md": "mdadm --detail", "zfs": "zpool status"}


class DegradedArray(Rule):
    """An array lacked a member while it was measured."""

    name = "degraded-array"
    about = "an array that lacks a member"
    source = (
        "Linux, Documentation/admin-guide/md.rst, degraded: the number of devices that are failed or missing; "
        "flatwater's docs/models/raid.md"
    )
    elsewhere = "the evidence has what it cost this run, where a part of it had all members"

    def advise(self, case: Case) -> Advice | None:
        """A new member, whatever bounds the run: what is lost is the protection first."""
        found = degraded(case.evidence)
        if found is None:
            return None
        bound = case.finding(*_STORAGE)
        cost = slowed(case.evidence, found.when > 0) if found.when is not None and not case.is_served else None
        whole = cost is not None and cost.ratio is None
        ask = _ASK.get(found.kind)
        told = self.advice(
            "An array lacks a member: it is slower, and another failure may lose its data.",
            Change(
                "hardware",
                "Replace the member that failed, let the array rebuild it, and measure again.",
                (f"{ask} {shell_word(found.name)}",) if ask else (),
                events_without(case.evidence, "fail", "replace"),
            ),
            found.text,
            cost.text("a member was missing") if cost is not None and not whole else None,
            "what it cost cannot be told: no part of the run had all members" if whole else None,
            *(bound.evidence if bound is not None and cost is not None else ()),
            confidence="high",
            risk="a rebuild reads all other members, and slows the array down until it is over",
        )
        if cost is None:
            # Of a real array nobody knows since when. Where the storage holds nothing back, it costs nothing yet.
            return replace(told, share=bound.share if bound is not None and found.when is None else 0.0)
        return replace(told, share=cost.share if not whole else bound.share if bound is not None else 0.0)
