"""What if? A measured run of a real server, its modelled twin, and what the twin says of a changed stack.

base.py      what the run recorded: throughput and its noise, pages, CPU time, the storage's answers, settings
twin.py      the same server and storage in virtual time, and what they count
fitting.py   the two things that no counter tells, fitted; how well the twin then does what was measured
changes.py   what is asked: `--set`, and the questions that are asked when nothing is
predict.py   each change on the twin, with its interval
"""

from flatwater.what_if.base import Base, read_base
from flatwater.what_if.changes import Change, parse_changes, usual_questions
from flatwater.what_if.fitting import Fitted, fit_twin
from flatwater.what_if.predict import Prediction, predict

__all__ = [
    "Base",
    "Change",
    "Fitted",
    "Prediction",
    "fit_twin",
    "parse_changes",
    "predict",
    "read_base",
    "usual_questions",
]
