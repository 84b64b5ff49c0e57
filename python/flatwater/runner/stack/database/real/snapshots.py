"""The loaded data directory that cells start from: made once for all cells and experiments that can share it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import psutil

from flatwater.errors import FlatwaterError, Interrupted
from flatwater.experiment import Experiment
from flatwater.results.started import shell_word
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.progress import Reporter
from flatwater.runner.stack.database.real.dataset import load_dataset
from flatwater.runner.stack.database.real.index_sizes import index_sizes
from flatwater.runner.stack.database.real.space import Space, require_space, shape_of
from flatwater.runner.stack.database.size import estimate_bytes
from flatwater.server import (
    Binary,
    Instance,
    ServersRoot,
    Snapshot,
    find_snapshot,
    loading_settings,
    open_loading,
    shaping,
    snapshot_fault,
)
from flatwater.server.copying import free_bytes
from flatwater.server.sizes import print_size


def delete_hint(snapshot: Snapshot) -> str:
    """The command that deletes a snapshot."""
    storage = snapshot.folder.parents[2]
    return f"flatwater snapshots delete {shell_word(str(storage))} {snapshot.key}; the next run loads it anew"


def why_not_started(snapshot: Snapshot, error: FlatwaterError) -> FlatwaterError:
    """The error of a server that did not start on a copy of a snapshot, with the folder of that snapshot."""
    storage = shell_word(str(snapshot.folder.parents[2]))
    looked = f"if the data are damaged, flatwater snapshots check {storage} {snapshot.key} tells it"
    what = f"{error.what} (on a copy of the snapshot {snapshot.folder})"
    return FlatwaterError(what, where=error.where, hint=f"{error.hint}; {looked}" if error.hint else looked)


def loaded_snapshot(
    cell: Experiment,
    binary: Binary,
    root: ServersRoot,
    settings: Mapping[str, str],
    space: Space,
    reporter: Reporter,
    interrupt: Interrupt,
    hurried: Callable[[], bool],
) -> Snapshot:
    """The snapshot of a cell, loaded if it is missing; `space` is its estimate. Errors: FlatwaterError, Interrupted."""
    shape = shape_of(cell, binary, settings)
    snapshot = find_snapshot(root, shape)
    if snapshot is not None:
        if (fault := snapshot_fault(snapshot)) is not None:
            raise FlatwaterError(f"the snapshot {snapshot.folder} is damaged: {fault}", hint=delete_hint(snapshot))
        return snapshot
    free = free_bytes(root.path)
    require_space(root.path, space, free)
    reporter.note(
        f"loads into {root.path}: needs about {print_size(space.total)} ({space.text}); {print_size(free)} free"
    )
    loading = open_loading(root, shape)
    memory, size = psutil.virtual_memory().total, estimate_bytes(cell)
    chosen = loading_settings(binary, memory_bytes=memory, data_bytes=size)
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
        # Before a workload changes them: a minute of TPC-C splits every page of an index that was built full.
        tables = index_sizes(instance, cell.schema_name, hurried, worth_a_wait=False)
        instance.stop()
    return loading.commit(tables)
