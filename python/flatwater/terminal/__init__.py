"""Small charts of a run on a terminal, which stay in place while its lines go by above them.

    history.py   what was recorded of some series, in few parts, however long the run is
    canvas.py    lines of characters: braille, or ASCII where there is none
    charts.py    which charts a run has, and how they fit a terminal
    screen.py    what stays in place, drawn once a second, and after a resize anew

`flatwater run` fills the history from what it has just measured, `flatwater watch` from a journal.
"""

from flatwater.terminal.charts import BUSY, SERIES, Charts, can_show, charts_of, fitted
from flatwater.terminal.history import History
from flatwater.terminal.screen import Screen

__all__ = ["BUSY", "SERIES", "Charts", "History", "Screen", "can_show", "charts_of", "fitted"]
