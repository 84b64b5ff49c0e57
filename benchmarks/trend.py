"""Which changes `flatwater trend` finds, and how often it is wrong: `python -m benchmarks.trend` writes it into
docs/regressions.md.

Nothing is run or timed: series of known truth are drawn, as many runs would give them, and the search is asked. The
same seed gives the same page.
"""

from __future__ import annotations

import argparse
import math
import sys
import textwrap
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from scipy.stats import rankdata
from scipy.stats import t as student

from benchmarks.options import Preset, command_line, measure, read_options, tell
from benchmarks.tables import page_with, table
from flatwater import __version__
from flatwater.analysis import change_points
from flatwater.analysis.change_points import LEVEL_MIN, P_MAX, WINDOW, find_levels, weighted_t

MODULE = "benchmarks.trend"
PAGE = Path(__file__).parents[1] / "docs" / "regressions.md"
#: The generated text is between these lines.
BEGIN, END = "<!-- measured -->", "<!-- end of what was measured -->"
PRESETS: tuple[Preset, ...] = (
    ("series", 200_000, 300),
    ("steps", 10_000, 100),
    ("others", 100_000, 2_000),
    ("nights", 1_000, 10),
    ("seed", 20261126, 20261126),
)
RUNS, CV, STEP = 40, 0.03, 0.05
FOUND_MIN, FALSE_MAX = 0.95, 0.001

Values = np.ndarray[Any, np.dtype[np.float64]]
Generator = np.random.Generator
Noise = Callable[[Generator, int, int], Values]


def normal(rng: Generator, series: int, runs: int) -> Values:
    """Independent noise of standard deviation 1."""
    return rng.standard_normal((series, runs))


def heavy(rng: Generator, series: int, runs: int) -> Values:
    """Student's t with 3 degrees of freedom, of standard deviation 1: one run in 100 is 2.6 away and more."""
    return rng.standard_t(3, (series, runs)) / math.sqrt(3)


def accidents(rng: Generator, series: int, runs: int) -> Values:
    """Normal noise; 3 runs in 100 are slower by up to 12 standard deviations and more."""
    noise = rng.standard_normal((series, runs))
    return np.where(rng.random((series, runs)) < 0.03, noise - 6 * np.abs(rng.standard_normal((series, runs))), noise)


def following(correlation: float) -> Noise:
    """Noise that follows the run before."""

    def draw(rng: Generator, series: int, runs: int) -> Values:
        noise = rng.standard_normal((series, runs))
        noise[:, 1:] *= math.sqrt(1 - correlation**2)
        for run in range(1, runs):
            noise[:, run] += correlation * noise[:, run - 1]
        return noise

    return draw


def draw_series(rng: Generator, noise: Noise, series: int, runs: int, *, cv: float, step: float, after: int) -> Values:
    """Throughputs of 1, with a fall by `step` of which the last `after` runs are."""
    found = 1 + cv * noise(rng, series, runs)
    found[:, runs - after :] *= 1 - step
    return np.maximum(found, 1e-3)


def share_found(series: Values) -> float:
    """The share of series in which `flatwater trend` tells a change."""
    runs = series.shape[1]
    if runs <= WINDOW:
        # The same for many series at once: the first division decides whether there is a change at all.
        return float((weighted_t(np.log(series)).max(axis=1) >= change_points.critical_value(runs)).mean())
    return sum(bool(find_levels(one).changes) for one in series) / len(series)


@dataclass(frozen=True)
class Way:
    """A way to search, by its largest statistic of each series, and the value from which on it tells a change."""

    title: str
    statistic: Callable[[Values], Values]
    #: None: the value that normal noise exceeds in one series of a thousand, from series of their own.
    limit: float | None = None


def place_t(series: Values) -> Values:
    """Student's t of each place, without weights and with outliers as they are."""
    runs = series.shape[1]
    centred = series - series.mean(axis=1, keepdims=True)
    before = np.arange(LEVEL_MIN, runs - LEVEL_MIN + 1)
    between = np.cumsum(centred, axis=1)[:, LEVEL_MIN - 1 : runs - LEVEL_MIN] ** 2 * runs / (before * (runs - before))
    return np.asarray(np.sqrt(between * (runs - 2) / ((centred**2).sum(axis=1, keepdims=True) - between)))


def cusum(series: Values) -> Values:
    """The same, weighted as the classical CUSUM does."""
    runs = series.shape[1]
    share = np.arange(LEVEL_MIN, runs - LEVEL_MIN + 1) / runs
    return np.asarray(place_t(series) * np.sqrt(4 * share * (1 - share)))


def known_noise(series: Values) -> Values:
    """CUSUM of series whose noise is known to be CV, and need not be found from them."""
    runs = series.shape[1]
    sums = np.cumsum(series - series.mean(axis=1, keepdims=True), axis=1)[:, LEVEL_MIN - 1 : runs - LEVEL_MIN]
    return np.asarray(2 * np.abs(sums) / math.sqrt(runs) / CV)


def energy(series: Values) -> Values:
    """E-divisive's own statistic with exponent 1, as Otava has it: energy distance of the two parts of each place."""
    runs = series.shape[1]
    before = np.arange(LEVEL_MIN, runs - LEVEL_MIN + 1)
    after = runs - before
    parts = []
    for some in np.array_split(series, max(1, len(series) // 2000)):
        sums = np.abs(some[:, :, np.newaxis] - some[:, np.newaxis, :]).cumsum(axis=1).cumsum(axis=2)
        ours, whole = sums[:, before - 1, before - 1], sums[:, -1:, -1]
        across = sums[:, before - 1, -1] - ours
        theirs = whole - 2 * across - ours
        distance = 2 * across / (before * after) - ours / before**2 - theirs / after**2
        parts.append(before * after / runs * distance / (whole / runs**2))
    return np.concatenate(parts)


def largest(places: Callable[[Values], Values]) -> Callable[[Values], Values]:
    """The largest statistic of all places."""
    return lambda series: np.asarray(places(series).max(axis=1))


WAYS = (
    Way("`flatwater trend`", largest(weighted_t), change_points.critical_value(RUNS)),
    Way("all places alike, outliers as they are", largest(place_t)),
    Way("CUSUM (weight 0.5)", largest(cusum)),
    Way("energy distance, exponent 1", largest(energy)),
    Way("ranks in the place of values", lambda series: largest(weighted_t)(rankdata(series, axis=1))),
    Way("plain t of the best place, p = 0.001", largest(place_t), float(student.isf(P_MAX / 2, RUNS - 2))),
    Way("the noise is known: 3 %", largest(known_noise)),
    Way("the place is known: run 21", lambda series: place_t(series)[:, RUNS // 2 - LEVEL_MIN],
        float(student.isf(P_MAX / 2, RUNS - 2))),
)  # fmt: skip
#: The step as a share, and how many runs come after it.
STEPS = ((STEP, 20), (STEP, 10), (0.10, 5), (0.20, 2))


def compare_ways(rng: Generator, series: int, steps: int) -> str:
    """A row for each way to search: false alarms and what is found."""
    noises = (normal, heavy, accidents)
    calibration = draw_series(rng, normal, series, RUNS, cv=CV, step=0, after=0)
    quiet = [draw_series(rng, noise, series, RUNS, cv=CV, step=0, after=0) for noise in noises]
    stepped = [draw_series(rng, normal, steps, RUNS, cv=CV, step=step, after=after) for step, after in STEPS]
    rows = []
    for way in WAYS:
        tell(way.title)
        limit = way.limit or float(np.quantile(way.statistic(calibration), 1 - P_MAX))
        alarms = [1000 * float((way.statistic(one) >= limit).mean()) for one in quiet]
        found = [float((way.statistic(one) >= limit).mean()) for one in stepped]
        rows.append([way.title, *(f"{one:.1f}" for one in alarms), *(f"{one:.3f}" for one in found)])
    head = ["search", "false alarms in 1,000, normal noise", "heavy tails", "accidents"]
    head += [f"{100 * step:.0f} %, {after} runs" for step, after in STEPS]
    return table(head, rows)


#: Runs, noise of a run, and how many runs come after the step.
TAKES = (
    (40, 0.03, 20), (40, 0.03, 10), (40, 0.03, 5), (50, 0.03, 25), (60, 0.03, 30), (60, 0.03, 15),
    (40, 0.025, 20), (40, 0.03 / math.sqrt(2), 20), (40, 0.03 / math.sqrt(2), 10), (40, 0.03 / math.sqrt(3), 10),
    (40, 0.03 / math.sqrt(3), 5), (40, 0.01, 5), (40, 0.01, 3),
)  # fmt: skip


def what_it_takes(rng: Generator, steps: int) -> str:
    """How often a step of 5 % is found, by runs and noise."""
    rows = []
    for runs, cv, after in TAKES:
        found = share_found(draw_series(rng, normal, steps, runs, cv=cv, step=STEP, after=after))
        rows.append([f"{runs}", f"{100 * cv:.1f} %", f"{after}", f"{found:.3f}"])
    return table(["runs", "noise of a run", "of them after the step", "found"], rows)


def places(rng: Generator, steps: int) -> str:
    """How far the told place is from the true one."""
    away = []
    for one in draw_series(rng, normal, steps, RUNS, cv=CV, step=STEP, after=RUNS // 2):
        away += [abs(change.index - RUNS // 2) for change in find_levels(one).changes[:1]]
    shares = [sum(one <= most for one in away) / len(away) for most in (0, 1, 3)]
    exact, one_off, three_off = (f"{100 * share:.0f} %" for share in shares)
    return (
        f"Of the steps that are found, {exact} are told at their run, {one_off} at most one run beside it, "
        f"{three_off} at most three."
    )


def follow(rng: Generator, series: int) -> str:
    """False alarms where the noise of a run follows that of the run before."""
    rows = []
    for correlation in (0.1, 0.2, 0.4):
        drawn = draw_series(rng, following(correlation), series, RUNS, cv=CV, step=0, after=0)
        rows.append([f"{correlation:.1f}", f"{1000 * share_found(drawn):.0f}"])
    return table(["correlation", "false alarms in 1,000"], rows)


def every_night(rng: Generator, series: int) -> str:
    """How often a series without a step is ever told to have one, if it is asked after each run."""
    asked = range(10, 101)
    alarms = sum(
        any(find_levels(one[:runs]).changes for runs in asked)
        for one in draw_series(rng, normal, series, asked[-1], cv=CV, step=0, after=0)
    )
    return (
        f"Asked again after each run, from run {asked[0]} to run {asked[-1]}, {1000 * alarms / series:.0f} of 1,000 "
        "series without a step are told to have one at some time."
    )


def goals(rng: Generator, series: int, steps: int) -> str:
    """Both goals, and at which false alarms the first would be met."""
    stepped = draw_series(rng, normal, steps, RUNS, cv=CV, step=STEP, after=RUNS // 2)
    found = share_found(stepped)
    alarms = share_found(draw_series(rng, normal, series, RUNS, cv=CV, step=0, after=0))
    tell(f"found {found:.4f}, false alarms {1000 * alarms:.2f} in 1,000")
    rows = [
        [
            f"a step of 5 % in the middle of {RUNS} runs, noise 3 %: found",
            f"{found:.3f}",
            f"≥ {FOUND_MIN}",
            _met(found >= FOUND_MIN),
        ],
        [
            f"no step in {RUNS} runs: false alarms in 1,000 series",
            f"{1000 * alarms:.2f}",
            f"≤ {1000 * FALSE_MAX:.0f}",
            _met(alarms <= FALSE_MAX),
        ],
    ]
    limit = float(np.quantile(weighted_t(np.log(stepped)).max(axis=1), 1 - FOUND_MIN))
    needed = change_points.chance_of(RUNS, limit)
    words = (
        f"To find {100 * FOUND_MIN:.0f} % of these steps, `--p-max {needed:.1g}` is needed: "
        f"about {1000 * needed:.0f} false alarms in 1,000."
    )
    return f"{table(['goal', 'measured', 'target', ''], rows)}\n\n{words}"


def run(options: argparse.Namespace) -> str:
    """Draws everything in order; returns the page with the outcome."""
    rng = np.random.default_rng(options.seed)
    tell("the goals")
    parts = [goals(rng, options.series, options.steps)]
    tell("what it takes")
    parts += [
        "A step of 5 %, by the number of runs and their noise (2.1 % and 1.7 % are 3 % with `repeat = 2` and 3):",
        what_it_takes(rng, options.steps),
        places(rng, options.steps),
        "Series without a step in which the noise of a run follows that of the run before:",
        follow(rng, options.steps),
        every_night(rng, options.nights),
    ]
    introduction = (
        "Other searches on the same series. Where the name says nothing else, the limit of each is what normal noise "
        "exceeds in one series of a thousand:"
    )
    parts += [introduction, compare_ways(rng, options.others, options.steps)]
    facts = {
        "command": f"`{command_line(MODULE, options, PRESETS)}`",
        "date": time.strftime("%Y-%m-%d"),
        "versions": f"flatwater {__version__}, numpy {np.__version__}, scipy {scipy.__version__}",
        "series": f"{options.series:,} for false alarms, {options.steps:,} for each other row, {options.others:,} for "
        f"false alarms of other searches, {options.nights:,} asked after each run",
        "seed": str(options.seed),
    }
    head = "| | |\n|---|---|\n" + "\n".join(f"| {name} | {value} |" for name, value in facts.items())
    return page_with(PAGE, BEGIN, END, "\n\n".join([head, *(_wrapped(part) for part in parts)]))


def _wrapped(part: str) -> str:
    """Paragraphs with lines as long as elsewhere in the docs; tables as they are."""
    return "\n\n".join(one if one.startswith("|") else textwrap.fill(one, 120) for one in part.split("\n\n"))


def _met(met: bool) -> str:
    return "met" if met else "**not met**"


def read(arguments: list[str]) -> argparse.Namespace:
    """The options. Errors: UserError, and argparse's own exit."""
    parser = argparse.ArgumentParser(prog=f"python -m {MODULE}", description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="does everything work? few series; prints the page")
    parser.add_argument("--out", type=Path, help="where the page goes [docs/regressions.md]")
    parser.set_defaults(only="", dir=Path())
    for name, full, short in PRESETS:
        parser.add_argument(f"--{name}", type=type(full), metavar="N", help=f"[{full}; with --quick {short}]")
    return read_options(parser, arguments, PRESETS, [""], PAGE)


if __name__ == "__main__":
    sys.exit(measure(read, run, sys.argv[1:]))
