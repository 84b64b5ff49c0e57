"""How the figures of repeated runs of one experiment developed: levels, changes, and what else changed then.

runs.py          a run: its figures and its circumstances
same.py          whether two runs repeat one experiment on one machine
environment.py   what was recorded of a run's circumstances, and what changed of it
trends.py        the runs in groups, and the changes of each figure
words.py         all that in words and rows
"""

from flatwater.analysis.trend.environment import Changed
from flatwater.analysis.trend.runs import Run, read_run
from flatwater.analysis.trend.trends import Line, Shift, Trend, Trends, find_trends, newest_regressions

__all__ = [
    "Changed",
    "Line",
    "Run",
    "Shift",
    "Trend",
    "Trends",
    "find_trends",
    "newest_regressions",
    "read_run",
]
