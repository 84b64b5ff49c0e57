"""flatwater in Python: results as tables and charts, for notebooks and scripts. `import flatwater as fw` has its names.

loaded.py  a result: its tables and charts
chart.py   a chart of the report, alone
verbs.py   run, compare, what-if; not imported here, because to load a result takes less
arguments.py  what the functions take
frames.py  tables for Arrow, polars and pandas
"""

from flatwater.notebook.chart import Chart
from flatwater.notebook.loaded import LoadedRun, load

__all__ = ["Chart", "LoadedRun", "load"]
