"""Executors: they run the cells of an experiment. One file for each; `make_executor` chooses one.

executor.py   the interface of an executor, and the course of cells that it runs
bench.py      runs cells one after another, on the stacks of one process
local.py      this machine: modelled cells in parallel processes (process.py), real ones one at a time
dask.py       many machines, through a dask scheduler; site.py runs on its workers
relay.py      what a cell on a worker records, told to its client while it runs
shown.py      the charts of a terminal for such cells
scheduler.py  the scheduler and its workers, as a client sees them

To add an executor: write `executors/NAME.py` with a class that has `open`, `run` and `close`, add it to
`make_executor`, and test it in `tests/runner/executors/test_NAME.py`.
"""

from __future__ import annotations

from flatwater.errors import UserError
from flatwater.runner.executors.executor import Course, Executor, OnCell
from flatwater.runner.stack.layers.running import LoadHosts

__all__ = ["LOCAL", "Course", "Executor", "OnCell", "make_executor"]

#: The name of the executor of this machine.
LOCAL = "local"
#: The prefixes of the addresses of a dask scheduler.
_SCHEDULERS = ("tcp://", "tls://")


def make_executor(on: str = LOCAL, jobs: int | None = None, hosts: LoadHosts | None = None) -> Executor:
    """The executor for `--on`: `local`, or the address of a dask scheduler. `jobs` is the number of processes that run
    modelled cells on this machine; None for one on each core. `hosts` make the load of cells with a `[load]`.

    Errors: UserError for an unknown executor.
    """
    if on == LOCAL:
        from flatwater.runner.executors.local import LocalExecutor

        return LocalExecutor(jobs, hosts)
    if hosts is not None:
        hint = f"--on {LOCAL}: the machine that runs the experiment is where its server is"
        raise UserError("--on and --load-on cannot both name a scheduler", where="--load-on", hint=hint)
    if not on.startswith(_SCHEDULERS):
        hint = f"there is: {LOCAL}, or a dask scheduler's address (tcp://HOST:8786, tls://HOST:8786)"
        raise UserError(f"no executor {on!r}", where="--on", hint=hint)
    if jobs is not None:
        hint = "dask's workers are started by hand: dask worker ADDRESS --nworkers N --nthreads 1"
        raise UserError("how many cells run at once is not this machine's affair", where="--jobs", hint=hint)
    try:
        from flatwater.runner.executors.dask import DaskExecutor
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("dask", "distributed"):
            raise
        hint = "pip install 'flatwater[dask]'"
        raise UserError("dask.distributed is not installed", where="--on", hint=hint) from None
    return DaskExecutor(on)
