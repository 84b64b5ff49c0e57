"""How far the mean of one run is from that of another run of the same: a part of the interval of each ratio of runs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from flatwater.results import Cell, CellSummary

#: 95 % of a normal distribution lie within this many standard deviations of its mean.
Z95 = 1.96

#: By this share the means of unchanged reruns vary beyond what their seconds tell: the place of the files, the state
#: of the machine, the scheduling of threads. Measured on 9 pairs of runs of MariaDB, one after the other, 13 to 25 s:
#: their ratios have a standard deviation of 3.6 %, so one mean has 2.5 %. The seconds explain 2.0 %; the rest is 1.6 %,
#: taken as 2 % (docs/what-if.md). Repeats of the run itself tell it better.
BETWEEN_RUNS = 0.02


def run_noise(cells: Sequence[Cell]) -> float:
    """Standard deviation of one run's mean, as a share of the mean, from complete runs of the same.

    It is that of the mean of each run's seconds, with `BETWEEN_RUNS`. With repeats it is that between the runs, or that
    of their seconds if it is larger.
    """
    shares = [_within(cell, cell.summary) for cell in cells if cell.summary is not None]
    within = math.sqrt(sum(share * share for share in shares) / len(shares))
    means = [cell.summary.mean for cell in cells if cell.summary is not None and cell.summary.mean]
    if len(means) < 2:
        return math.hypot(within, BETWEEN_RUNS)
    return max(within, float(np.std(means, ddof=1)) / (sum(means) / len(means)))


def _within(cell: Cell, summary: CellSummary) -> float:
    """From the confidence interval of a run's mean.

    There is none where the run went up and down so slowly that it holds no two independent samples. Then all of it is
    one sample, and its mean is as uncertain as its seconds are spread.
    """
    mean = summary.mean or 1.0
    if summary.mean_ci95 is not None:
        return summary.mean_ci95 / Z95 / mean
    values = cell.measured("workload", "throughput").value
    values = values[np.isfinite(values)]
    return float(values.std(ddof=1) / values.mean()) if len(values) > 1 and values.mean() > 0 else 0.0
