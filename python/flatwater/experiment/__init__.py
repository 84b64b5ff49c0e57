"""The experiment file: four layers, a sweep, published figures.

load.py        a file or a name -> Experiment; overrides.py, faults.py and lines.py serve it
experiment.py  the whole; workload/ database/ cache.py storage.py: one room or file a layer, met in kinds.py
conflicts.py   what one layer asks of another
sweep.py       lists of values -> cells
published.py   figures that others measured, and the cells they stand beside
library.py     the experiments that come with flatwater
"""

from flatwater.experiment.database import NoDatabase, Server, ServerFault
from flatwater.experiment.duration import longest_s
from flatwater.experiment.experiment import Experiment
from flatwater.experiment.library import LibraryEntry, library, library_dir
from flatwater.experiment.load import InvalidExperimentError, find_experiment, load, read_text
from flatwater.experiment.published import PublishedFigure, published_for
from flatwater.experiment.runnable import require_runnable
from flatwater.experiment.sweep import PlannedCell, cell_at, count_cells, iter_cells, run_order
from flatwater.experiment.toml import to_toml
from flatwater.experiment.units import print_duration, print_size
from flatwater.experiment.workload import Fileio, Oltp, Timing, Tpcc
from flatwater.experiment.workload.transactions import Transactions

__all__ = [
    "Experiment",
    "Fileio",
    "InvalidExperimentError",
    "LibraryEntry",
    "NoDatabase",
    "Oltp",
    "PlannedCell",
    "PublishedFigure",
    "Server",
    "ServerFault",
    "Timing",
    "Tpcc",
    "Transactions",
    "cell_at",
    "count_cells",
    "find_experiment",
    "iter_cells",
    "library",
    "library_dir",
    "load",
    "longest_s",
    "print_duration",
    "print_size",
    "published_for",
    "read_text",
    "require_runnable",
    "run_order",
    "to_toml",
]
