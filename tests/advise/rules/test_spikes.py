from __future__ import annotations

import numpy as np
from cases import SAMPLES, case, line, load, machine

from flatwater.advise.rule import Case
from flatwater.advise.rules.spikes import Spikes
from flatwater.analysis.bound.line import Line
from flatwater.results.schema import Dip

STARTS = (10, 25, 40, 55)


def disturbed(others: float) -> Case:
    """Dips of two seconds every 15, in which others use so much of a core; it is 5 % otherwise."""
    dips = tuple(Dip(start_s=start, length_s=2, depth=0.8) for start in STARTS)
    used, rate = np.full(SAMPLES, 5.0) + np.resize([0.0, 0.1], SAMPLES), np.full(SAMPLES, 1000.0)
    for start in STARTS:
        used[start : start + 2] += others
        rate[start : start + 2] = 200
    return case(
        verdict="dips",
        dips=dips,
        dip_period_s=15.0,
        load=load(throughput=Line(rate)),
        machine=machine(others_pct=Line(used), children_pct=line(0)),
    )


def test_a_job_that_runs_again_and_again() -> None:
    told = Spikes().advise(disturbed(700))
    assert told is not None
    assert "every 15 s" in told.finding
    assert (told.change.kind, told.confidence) == ("host", "high")


def test_silent_of_dips_that_begin_with_nothing_of_others() -> None:
    assert Spikes().advise(disturbed(0)) is None
    assert Spikes().advise(case()) is None
