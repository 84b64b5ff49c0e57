"""What if? A measured run of a real server, its modelled twin, and the twin's throughput on a changed stack.

noise.py     how far the mean of a run is from that of another run of the same
base.py      what the run recorded: throughput and its noise, pages, CPU time, the storage's latencies, settings
processors.py  what the emulation of the run's own device took of the processors
twin.py      a model of the same server on the same storage in virtual time, and what it counts
storages.py  the storages of that model: that of the data, and those that parts of the server were placed on
fitting.py   fits the two quantities that no counter measures; compares the fitted twin with the run
changes.py   the changes to predict: those of `--set`, or a usual set of them
refusal.py   which changes are not predicted, and why
predict.py   the throughput of the twin with each change, with an interval
"""

from flatwater.what_if.base import Base, read_base
from flatwater.what_if.changes import Change, parse_changes, usual_questions
from flatwater.what_if.fitting import Fitted, fit_twin
from flatwater.what_if.predict import Prediction, predict
from flatwater.what_if.refusal import refusal, split

__all__ = [
    "Base",
    "Change",
    "Fitted",
    "Prediction",
    "fit_twin",
    "parse_changes",
    "predict",
    "read_base",
    "refusal",
    "split",
    "usual_questions",
]
