"""The experiment file: four layers, a sweep, published figures.

A file is read in one pass. Each stage is a function from value to value, and the problems are collected.

load.py        the pass: parse -> spell -> override -> scale -> validate (a file each)
placing.py     the line of each problem
stage.py       the result of a stage: a value and its problems
validation.py  tables -> Experiment: sweep.py, the layers (layers.py, table.py), conflicts/, views.py
experiment.py  the whole, as a value; workload/ database/ cache/ storage/: a folder for each layer; kinds.py: all kinds
cells.py       an experiment -> its cells; write.py: -> its file again
device/        modelled devices: one class for each kind, one file of `devices/` for each device
fields.py      fields by their dotted names; paths.py: their places in tables
runnable.py    what a run still needs; absent.py: what it names and this machine has not
published.py   figures that others measured; expected.py: verdicts, orders and optima that others saw
lookup.py      the cells of a published figure
library.py     the files of the experiments that come with flatwater; library_entries.py: the experiments themselves
"""

from flatwater.experiment.absent import list_absent
from flatwater.experiment.cache import FlashCache
from flatwater.experiment.cells import CELLS_ASKED, PlannedCell, cell_at, count_cells, iter_cells, make_cell, run_order
from flatwater.experiment.database import NoDatabase, Server, ServerFault
from flatwater.experiment.device.files import find_device
from flatwater.experiment.device.load import DeviceEntry, list_devices, load_device, names_a_device
from flatwater.experiment.device_text import device_text
from flatwater.experiment.duration import cell_seconds, longest_s
from flatwater.experiment.expected import Expectation
from flatwater.experiment.experiment import Experiment
from flatwater.experiment.library import library_dir
from flatwater.experiment.library_entries import LibraryEntry, library
from flatwater.experiment.load import find_experiment, load
from flatwater.experiment.lookup import published_for
from flatwater.experiment.parse import read_text
from flatwater.experiment.placing import InvalidExperimentError
from flatwater.experiment.published import PublishedFigure
from flatwater.experiment.runnable import Missing, find_missing, require_runnable
from flatwater.experiment.storage import FileStorage, ModelledStorage
from flatwater.experiment.units import print_duration, print_left, print_size
from flatwater.experiment.validation import make_experiment
from flatwater.experiment.workload import Fileio, Observed, Oltp, OwnStatements, QueryLog, Sql, Timing, Tpcc
from flatwater.experiment.workload.transactions import Transactions
from flatwater.experiment.write import to_toml
from flatwater.experiment.written import written_text

__all__ = [
    "CELLS_ASKED",
    "DeviceEntry",
    "Expectation",
    "Experiment",
    "FileStorage",
    "Fileio",
    "FlashCache",
    "InvalidExperimentError",
    "LibraryEntry",
    "Missing",
    "ModelledStorage",
    "NoDatabase",
    "Observed",
    "Oltp",
    "OwnStatements",
    "PlannedCell",
    "PublishedFigure",
    "QueryLog",
    "Server",
    "ServerFault",
    "Sql",
    "Timing",
    "Tpcc",
    "Transactions",
    "cell_at",
    "cell_seconds",
    "count_cells",
    "device_text",
    "find_device",
    "find_experiment",
    "find_missing",
    "iter_cells",
    "library",
    "library_dir",
    "list_absent",
    "list_devices",
    "load",
    "load_device",
    "longest_s",
    "make_cell",
    "make_experiment",
    "names_a_device",
    "print_duration",
    "print_left",
    "print_size",
    "published_for",
    "read_text",
    "require_runnable",
    "run_order",
    "to_toml",
    "written_text",
]
