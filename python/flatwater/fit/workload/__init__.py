"""The cost of transactions on a real server, from a run: page requests, redo, CPU time, sizes of indexes.

counters.py   the counters that a run recorded: each cell is divided into windows of a few seconds
derive.py     figures for one transaction, with their intervals
others.py     what other programs took of the machine meanwhile
settled.py    whether redo still fell after the load
"""

from flatwater.fit.workload.counters import Counted, Window, count_run
from flatwater.fit.workload.derive import derive, to_workload_toml
from flatwater.fit.workload.others import OTHERS_SHARE, other_cores

__all__ = ["OTHERS_SHARE", "Counted", "Window", "count_run", "derive", "other_cores", "to_workload_toml"]
