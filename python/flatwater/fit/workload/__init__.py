"""What transactions cost a real server, from a run of one: page requests, redo, CPU time, sizes of indexes.

counters.py   what a run recorded: each cell cut into windows of some seconds
derive.py     figures of a transaction, with their intervals
"""

from flatwater.fit.workload.counters import Counted, Window, count_run
from flatwater.fit.workload.derive import derive, to_workload_toml

__all__ = ["Counted", "Window", "count_run", "derive", "to_workload_toml"]
