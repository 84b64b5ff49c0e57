"""Spikes rather than load: the run dips when a job runs, and has room between."""

from __future__ import annotations

from collections import Counter

from flatwater.advise.advice import Advice, Change
from flatwater.advise.rule import Case, Rule
from flatwater.analysis.bound.onset import explain

#: Fewer than so many are no habit.
_SPIKES_MIN = 3
#: What begins so many of them is their cause rather than chance.
_COMMON_MIN_SHARE = 0.5
#: How the jobs of others are called where interruptions are explained (analysis/bound/onset.py).
_JOBS = ("other processes' processor time", "the processor time that the host gave to others", "discards")


class Spikes(Rule):
    """Dips and stalls that begin with somebody else's job."""

    name = "spikes"
    about = "dips that begin with a job beside the database, again and again"
    source = (
        "cron(8) and systemd.timer(5), RandomizedDelaySec; fstrim(8) on when to trim; M/M/1: bursts wait, means do not"
    )
    elsewhere = "the mean hardly changes; the spikes end"

    def advise(self, case: Case) -> Advice | None:
        """Even them out: the mean has room."""
        found, period_s, text = explain(case.evidence)
        if len(found) < _SPIKES_MIN:
            return None
        begun = [next((job for job in _JOBS if any(one.startswith(job) for one in each.began)), None) for each in found]
        job, count = Counter(begun).most_common(1)[0]
        if job is None or count < _COMMON_MIN_SHARE * len(found):
            return None
        if job == "discards":
            change = "Mount without `discard`, and let fstrim.timer trim once a week in a quiet hour."
        else:
            change = (
                "Spread the job: run it more often with less to do, at a lower priority (nice, ionice), or elsewhere."
            )
        every = f" every {period_s:.3g} s" if period_s is not None else ""
        return self.advice(
            f"The run is disturbed{every} by a job beside it; the load between the spikes has room.",
            Change("host", f"{change} More hardware for the mean load would not remove the spikes."),
            text,
            confidence="high" if period_s is not None else "medium",
        )
