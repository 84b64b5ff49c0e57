"""What the figures of a run mean: transient, steady state, flatness, dips, stalls, error bars, comparison, a verdict.

All functions are pure functions of series. None reads a clock or runs anything. There is one file per kind of figure.
`summarise.analyse` combines them for one cell, and `compare.compare` compares results. docs/analysis.md explains the
methods and their limits.
"""

from flatwater.analysis.compare import Comparison, compare
from flatwater.analysis.steady import SteadyState, SteadyVerdict, steady_since
from flatwater.analysis.summarise import Analysis, analyse
from flatwater.analysis.transition import find_transition
from flatwater.analysis.verdict import Judgement, judge

__all__ = [
    "Analysis",
    "Comparison",
    "Judgement",
    "SteadyState",
    "SteadyVerdict",
    "analyse",
    "compare",
    "find_transition",
    "judge",
    "steady_since",
]
