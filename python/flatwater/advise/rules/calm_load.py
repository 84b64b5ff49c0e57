"""Spikes at low load: the mean leaves room, and users feel the spikes all the same."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flatwater.advise.advice import Advice, Change
from flatwater.advise.inside import processors_idle
from flatwater.advise.rule import Case, Rule
from flatwater.advise.rules.spikes import Spikes
from flatwater.advise.storage import busy_text, device_idles
from flatwater.analysis.bound import Evidence
from flatwater.analysis.bound.onset import explain
from flatwater.analysis.bound.processors import processors
from flatwater.analysis.bound.words import duration

#: A second is a spike if its p99 is so many times the usual one: an order of magnitude, as users feel it (our choice).
_TIMES = 10
#: Fewer are no habit; in more than a tenth of the seconds they are no spikes but the load itself.
_SPIKES_MIN, _SPIKES_MAX_SHARE = 3, 0.1


class CalmLoad(Rule):
    """Latency or throughput has spikes although device and processors idle."""

    name = "calm-load"
    about = "spikes at a low load: what users feel is not the mean"
    source = (
        "Dean and Barroso, The Tail at Scale, CACM 56 (2013): short episodes of high latency come from shared "
        "resources and work in the background, and grow with utilisation"
    )
    elsewhere = "the mean hardly changes; the spikes end"

    def advise(self, case: Case) -> Advice | None:
        """Find what begins the spikes, and even it out; no hardware for the mean."""
        evidence = case.evidence
        # Who drives a server as hard as it goes has no low load.
        if not (evidence.load.rate_per_s or evidence.load.pause_s):
            return None
        if not device_idles(evidence) or not processors_idle(evidence) or Spikes().advise(case) is not None:
            return None
        spikes = _spikes(evidence)
        if spikes is None:
            return None
        used = processors(evidence)
        text = explain(evidence)[2]
        return self.advice(
            "The load leaves room, and its spikes are what users feel.",
            Change(
                "workload",
                "Even out what comes at once: spread jobs and batches over time, cut large transactions into small "
                "ones, and give retries a random delay. Faster hardware for the mean would not remove the spikes.",
            ),
            f"in {spikes.count} of {spikes.known} seconds the p99 was over {_TIMES} times the usual "
            f"{duration(spikes.usual_us)}, up to {duration(spikes.worst_us)}",
            busy_text(evidence),
            used.busy_text if used is not None else None,
            text or None,
            confidence="medium" if text else "low",
        )


@dataclass(frozen=True)
class _Found:
    count: int
    known: int
    usual_us: float
    worst_us: float


def _spikes(evidence: Evidence) -> _Found | None:
    """Seconds whose p99 is far above the usual one; None if there are too few or too many."""
    line = evidence.load.latency_p99_us
    if line is None or evidence.interval_s > 1:
        return None
    known = line.value[np.isfinite(line.value)]
    usual = float(np.median(known))
    high = known[known > _TIMES * usual]
    if usual <= 0 or not _SPIKES_MIN <= len(high) <= _SPIKES_MAX_SHARE * len(known):
        return None
    return _Found(len(high), len(known), usual, float(high.max()))
