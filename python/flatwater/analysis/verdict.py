"""The verdict on a run: one word and one sentence.

The words in order of importance: **stalls** (nothing finished for a while), **not steady** (the last rounds break
SNIA's rule, so no single number describes the run), **drifting** (each window passes, but the level changes), **dips**
(the level holds, with dips in it), **flat**.

The figures in the sentence are those of the settled part: after the transient (`warmup`), and from the time at which
the rule holds (`steady`). If the mean of the whole measured phase differs, the sentence says so. With stalls the
figures are those of the whole measured phase, because what looks like a transient or a level may be the stall itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from flatwater.analysis.autocorrelation import estimate_mean
from flatwater.analysis.counting import events_an_interval, scatter_of_counting
from flatwater.analysis.dips import Dips, find_dips
from flatwater.analysis.flatness import flatness
from flatwater.analysis.stalls import during, find_stalls
from flatwater.analysis.steady import (
    RISE_MAX,
    ROUND_S,
    WINDOW,
    Rounds,
    SteadyVerdict,
    line_rise,
    make_rounds,
    percent,
    since,
)
from flatwater.analysis.warmup import transient_samples
from flatwater.analysis.words import what_is_done
from flatwater.results.schema import Dip, Stall, Verdict
from flatwater.results.series import EMPTY, Series

#: With fewer intervals than this, neither a percentile nor a trend is meaningful.
SAMPLES_MIN = 10
#: A flat line keeps 85 % of its median in its worst 5 % of intervals: half way between the trend that SNIA's rule
#: allows (10 %) and the depth of a dip (20 %). Plain scatter of 9 % just passes. What counting alone scatters comes on
#: top: a second with 100 transactions scatters by 10 % on the flattest line.
FLATNESS_MIN = 0.85
#: The worst twentieth of normal scatter lies this many standard deviations below the median.
WORST_TWENTIETH = 1.645
#: Dips that are neither regular nor cover this share of the time leave a line flat; the sentence still mentions them.
DIP_TIME_MAX = 0.01
#: Periods needed to judge a line that dips regularly by whole periods.
PERIODS_MIN = 3
#: If the means of the settled part and of the whole measured phase differ by more than this, the sentence has both.
MEANS_DIFFER = 0.02


@dataclass(frozen=True)
class Judgement:
    """The result of `judge`; times are seconds of the cell, `warmup_end_s` is None if the transient never ended."""

    verdict: Verdict | None
    text: str
    steady: bool | None = None
    steady_since_s: float | None = None
    warmup_end_s: float | None = None
    dips: list[Dip] = field(default_factory=list)
    dip_period_s: float | None = None
    stalls: list[Stall] = field(default_factory=list)


def judge(
    throughput: Series,
    interval_s: float,
    unit: str,
    *,
    completed: Series = EMPTY,
    in_flight: Series = EMPTY,
    oldest_us: Series = EMPTY,
) -> Judgement:
    """Judges the throughput (in `unit`) of a measured phase, with one value for each interval.

    `completed` (requests a second), `in_flight` and `oldest_us` distinguish a stall from idleness; each may be empty.
    """
    n = len(throughput)
    if n < SAMPLES_MIN:
        mean = f" Their mean is {quantity(float(throughput.value.mean()))} {unit}." if n else ""
        return Judgement(
            None,
            f"Not enough samples: {n} of {seconds(interval_s)}, and a verdict takes {SAMPLES_MIN}; "
            f"measure for longer, or record more often (record.interval_s).{mean}",
        )
    start_s = float(throughput.time_s[0]) - interval_s
    end_s = float(throughput.time_s[-1])
    stalls = find_stalls(completed if len(completed) else throughput, in_flight, oldest_us, interval_s)
    if not np.any(throughput.value > 0):
        if stalls:
            return Judgement("stalls", _stalls_text(stalls, unit) + " nothing finished at all.", False, stalls=stalls)
        return Judgement(None, "Nothing finished in the measured phase, and nothing was waiting.")
    cut = transient_samples(throughput.value)
    warmup_end_s = start_s if cut == 0 else None if cut is None else float(throughput.time_s[cut - 1])
    part = throughput.between(warmup_end_s if warmup_end_s is not None else start_s, end_s)
    dips = find_dips(part, interval_s, during(stalls, part))
    rounds, window = _rounds(part, interval_s, dips)
    windows = rounds.windows(window)
    last = windows[-1] if windows else None
    steady_since_s = since(rounds, window)
    if warmup_end_s is None:
        # White's heuristic found no end of the transient. If the rule of rounds holds from some time on, that time is
        # the end.
        warmup_end_s = steady_since_s
    settled_s = steady_since_s if steady_since_s is not None else float(part.time_s[0]) - interval_s
    settled = part.between(settled_s, end_s)
    held = [dip for dip in dips.dips if dip.start_s + dip.length_s > settled_s]
    events = events_an_interval(settled, completed, unit, interval_s)
    verdict, text = _decide(
        throughput if stalls else settled, rounds, last, stalls, held, dips, unit, settled_s, events
    )
    if last is not None and last.steady and verdict not in ("drifting", "stalls"):
        since_text = "from the start" if settled_s <= start_s + interval_s / 2 else f"from {seconds(settled_s)}"
        apart = " apart from the dips" if verdict == "dips" and held else ""
        text += f", steady {since_text}{apart}"
    text += "."
    whole = float(throughput.value.mean())
    if not stalls and abs(whole - float(settled.value.mean())) > MEANS_DIFFER * whole:
        text += f" Over the whole measured phase the mean is {quantity(whole)}; a longer workload.warmup_s would agree."
    if end_s - start_s < WINDOW * ROUND_S - interval_s / 2:
        text += f" Judged over rounds of {seconds(rounds.round_s)}: the measured phase is shorter than 5 minutes."
    return Judgement(
        verdict=verdict,
        text=text,
        steady=last.steady if last is not None else None,
        steady_since_s=steady_since_s,
        warmup_end_s=warmup_end_s,
        dips=dips.dips,
        dip_period_s=dips.period_s,
        stalls=stalls,
    )


def _rounds(part: Series, interval_s: float, dips: Dips) -> tuple[Rounds, int]:
    """The rounds for the verdict: SNIA's minutes without the dips, or whole periods of a line that dips regularly."""
    begin_s = float(part.time_s[0]) - interval_s
    length_s = float(part.time_s[-1]) - begin_s
    if dips.period_s is not None and dips.period_s > ROUND_S:
        # The period is known to a few per cent: a run of 2.95 periods has three.
        periods = int(length_s / dips.period_s + 0.1)
        if periods >= PERIODS_MIN:
            rounds = make_rounds(part, begin_s, min(dips.period_s, length_s / periods))
            return rounds, min(WINDOW, len(rounds.mean))
    round_s = ROUND_S if length_s >= WINDOW * ROUND_S - interval_s / 2 else length_s / WINDOW
    rounds = make_rounds(part, begin_s, round_s, dips.low)
    # Dips that fill whole rounds are not dips in an otherwise steady line, so these rounds are judged with the rest.
    return (rounds if len(rounds.mean) >= WINDOW else make_rounds(part, begin_s, round_s)), WINDOW


def _decide(
    settled: Series,
    rounds: Rounds,
    last: SteadyVerdict | None,
    stalls: list[Stall],
    held: list[Dip],
    dips: Dips,
    unit: str,
    settled_s: float,
    events: float | None,
) -> tuple[Verdict, str]:
    figures = flatness(settled.value)
    share = figures.flatness or 0.0
    estimate = estimate_mean(settled.value)
    margin = f" ± {quantity(estimate.ci95)} (95 % CI)" if estimate else ""
    level = f"{quantity(figures.mean or 0.0)} {unit}{margin}, flatness {share:.2f}"
    if stalls:
        return "stalls", f"{_stalls_text(stalls, unit)} mean of the whole measured phase {level}"
    if last is None or not last.steady:
        return "not steady", f"Not steady: {last or 'too few rounds'}; mean {level}"
    judged = np.array([mean for mean, at in zip(rounds.mean, rounds.start_s, strict=True) if at >= settled_s - 1e-3])
    creep = line_rise(judged) / float(judged.mean())
    if abs(creep) > RISE_MAX:
        way = "rises" if creep > 0 else "falls"
        span_s = len(judged) * rounds.round_s
        what = f"every window is steady, yet the level {way} by {percent(abs(creep))} in {seconds(span_s)}"
        return "drifting", f"Drifting: {what}; mean {level}"
    low_s = sum(dip.length_s for dip in held)
    if held and (dips.period_s is not None or low_s > DIP_TIME_MAX * rounds.round_s * len(judged)):
        return "dips", f"Dips: {_dips_text(held, dips, unit)}; mean {level}"
    if share < flatness_min(events):
        return (
            "dips",
            f"Dips: one interval in twenty does {percent(1 - share)} less than the median or worse; mean {level}",
        )
    if share < FLATNESS_MIN:
        level += (
            f" (an interval has {quantity(events or 0.0)} {what_is_done(unit)}, and such a number scatters by chance)"
        )
    return "flat", f"Flat: {level}" + (f", {_dips_text(held, dips, unit)}" if held else "")


def flatness_min(events: float | None) -> float:
    """The least flatness of a flat line of which an interval has `events` transactions or requests; None: very many."""
    by_chance = WORST_TWENTIETH * scatter_of_counting(events)
    return 1 - math.hypot(1 - FLATNESS_MIN, by_chance) if by_chance else FLATNESS_MIN


def _dips_text(held: list[Dip], dips: Dips, unit: str) -> str:
    length_s = float(np.median([dip.length_s for dip in held]))
    depth = float(np.median([dip.depth for dip in held]))
    count = f"{len(held)} dips" if len(held) > 1 else "1 dip"
    every = f" every {seconds(dips.period_s)}" if dips.period_s is not None else ""
    typical = "typically " if len(held) > 1 else ""
    return (
        f"{count}{every}, {typical}{seconds(length_s)} long and {percent(depth)} deep "
        f"({quantity(dips.usual)} to {quantity(dips.usual * (1 - depth))} {unit})"
    )


def _stalls_text(stalls: list[Stall], unit: str) -> str:
    longest = max(stalls, key=lambda stall: stall.length_s)
    total_s = sum(stall.length_s for stall in stalls)
    many = f" ({len(stalls)} stalls, {seconds(total_s)} in all)" if len(stalls) > 1 else ""
    waited = f"while {what_is_done(unit)} waited, the oldest for {seconds(longest.oldest_us / 1e6)}"
    if longest.oldest_us < longest.length_s * 1e6 / 2:
        # Requests in flight that stay young end without finishing: the device answers with errors.
        waited = f"because {what_is_done(unit)} failed"
    return f"Stalls: at {seconds(longest.start_s)} nothing finished for {seconds(longest.length_s)} {waited}{many};"


def quantity(value: float) -> str:
    """A throughput for a sentence: at least three significant digits, thousands separated."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def seconds(value: float) -> str:
    """A time for a sentence, in seconds."""
    return f"{value:,.0f} s" if value >= 100 or value == round(value) else f"{value:.3g} s"
