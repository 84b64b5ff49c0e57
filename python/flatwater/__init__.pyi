from flatwater.analysis import Comparison
from flatwater.errors import FlatwaterError, UserError
from flatwater.notebook import Chart, LoadedRun, load
from flatwater.notebook.verbs import WhatIf, compare, run, what_if

__version__: str

__all__ = [
    "Chart",
    "Comparison",
    "FlatwaterError",
    "LoadedRun",
    "UserError",
    "WhatIf",
    "__version__",
    "compare",
    "load",
    "run",
    "what_if",
]
