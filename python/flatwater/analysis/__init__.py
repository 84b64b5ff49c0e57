"""What a run's numbers mean: transient, steady state, flatness, dips, stalls, error bars, comparison, a verdict.

Pure functions of series; nothing here reads a clock or runs anything. One file per kind, met in `summarise.analyse`
(one cell) and `compare.compare` (results side by side). docs/analysis.md explains the methods and their limits.
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
