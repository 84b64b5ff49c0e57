"""The loaded data directory that cells start from: made once for all cells and experiments that can share it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import psutil

from flatwater.errors import FlatwaterError, Interrupted
from flatwater.experiment import Experiment
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.progress import Reporter
from flatwater.runner.stack.database.real.dataset import DATASET_VERSION, describe_dataset, load_dataset
from flatwater.runner.stack.database.real.index_sizes import print_loaded
from flatwater.runner.stack.database.size import estimate_bytes
from flatwater.server import (
    Binary,
    Instance,
    ServersRoot,
    Shape,
    Snapshot,
    check_space,
    find_snapshot,
    loading_settings,
    open_loading,
    shaping,
)


def shape_of(cell: Experiment, binary: Binary, settings: Mapping[str, str]) -> Shape:
    """The properties that a snapshot must have for a cell."""
    return Shape.of(binary, describe_dataset(cell), settings, dataset_version=DATASET_VERSION)


def loaded_snapshot(
    cell: Experiment,
    binary: Binary,
    root: ServersRoot,
    settings: Mapping[str, str],
    reporter: Reporter,
    interrupt: Interrupt,
    hurried: Callable[[], bool],
) -> Snapshot:
    """The snapshot of a cell, loaded if it is missing. Errors: FlatwaterError, Interrupted."""
    shape = shape_of(cell, binary, settings)
    snapshot = find_snapshot(root, shape)
    if snapshot is not None:
        return snapshot
    loading = open_loading(root, shape)
    memory, size = psutil.virtual_memory().total, estimate_bytes(cell)
    chosen = loading_settings(binary, memory_bytes=memory, data_bytes=size)
    if not loading.resumed:
        check_space(root.path, size)
    with Instance(binary, loading.folder, shaping(settings), chosen=chosen, stop=hurried) as instance:
        if loading.resumed:
            try:
                instance.start()
            except Interrupted:
                raise
            except FlatwaterError:
                reporter.note("what a load that was cut short left behind cannot be used: loading anew")
                loading = loading.discard()
        if not instance.running:
            reporter.phase("make a data directory", None)
            instance.initialise()
            instance.start()
        load_dataset(cell, instance.login(), reporter, interrupt, instance.died)
        reporter.phase("settle", None)
        print_loaded(instance, cell.schema_name, hurried)
        instance.stop()
    return loading.commit()
