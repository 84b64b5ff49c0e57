"""The experiment file: four layers, a sweep, published figures.

load.py        a file or a name -> Experiment; overrides.py, faults.py and lines.py serve it
experiment.py  the whole; workload/ database/ cache/ storage/: one room a layer, met in kinds.py
device/        modelled devices: one class a kind, one file of `devices/` each
conflicts.py   what one layer asks of another
sweep.py       lists of values -> cells
published.py   figures that others measured, and the cells they stand beside
expected.py    what others saw of the shape: flat or not, who wins, where the optimum lies
library.py     the experiments that come with flatwater
"""

from flatwater.experiment.cache import FlashCache
from flatwater.experiment.database import NoDatabase, Server, ServerFault
from flatwater.experiment.device.load import DeviceEntry, find_device, list_devices, load_device, names_a_device
from flatwater.experiment.device.text import device_text
from flatwater.experiment.duration import cell_seconds, longest_s
from flatwater.experiment.expected import Expectation
from flatwater.experiment.experiment import Experiment
from flatwater.experiment.library import LibraryEntry, library, library_dir
from flatwater.experiment.load import InvalidExperimentError, find_experiment, load
from flatwater.experiment.published import PublishedFigure, published_for
from flatwater.experiment.reading import read_text
from flatwater.experiment.runnable import require_runnable
from flatwater.experiment.storage import FileStorage, ModelledStorage
from flatwater.experiment.sweep import PlannedCell, cell_at, count_cells, iter_cells, run_order
from flatwater.experiment.toml import to_toml
from flatwater.experiment.units import print_duration, print_left, print_size
from flatwater.experiment.workload import Fileio, Oltp, Timing, Tpcc
from flatwater.experiment.workload.transactions import Transactions

__all__ = [
    "DeviceEntry",
    "Expectation",
    "Experiment",
    "FileStorage",
    "Fileio",
    "FlashCache",
    "InvalidExperimentError",
    "LibraryEntry",
    "ModelledStorage",
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
    "cell_seconds",
    "count_cells",
    "device_text",
    "find_device",
    "find_experiment",
    "iter_cells",
    "library",
    "library_dir",
    "list_devices",
    "load",
    "load_device",
    "longest_s",
    "names_a_device",
    "print_duration",
    "print_left",
    "print_size",
    "published_for",
    "read_text",
    "require_runnable",
    "run_order",
    "to_toml",
]
