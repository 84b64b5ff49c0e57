"""What runs the cells of an experiment: one file an executor, met here.

executor.py   what an executor is, and the course of cells that it is given
bench.py      where cells run, one after another: a process and its stacks
local.py      this machine: modelled cells in processes (process.py), real ones alone
dask.py       many machines, through a dask scheduler; site.py is what its workers run

To add an executor: write `executors/NAME.py` with a class that has `open`, `run` and `close`, make it known in
`make_executor`, mirror it in `tests/runner/executors/test_NAME.py`.
"""

from __future__ import annotations

from flatwater.errors import UserError
from flatwater.runner.executors.executor import Course, Executor, OnCell

__all__ = ["LOCAL", "Course", "Executor", "OnCell", "make_executor"]

#: The executor of this machine.
LOCAL = "local"
#: How addresses of a dask scheduler begin.
_SCHEDULERS = ("tcp://", "tls://")


def make_executor(on: str = LOCAL, jobs: int | None = None) -> Executor:
    """The executor of `--on`: `local`, or the address of a dask scheduler. `jobs` is how many processes run modelled
    cells on this machine; None for as many as there are cores.

    Errors: UserError for one that does not exist.
    """
    if on == LOCAL:
        from flatwater.runner.executors.local import LocalExecutor

        return LocalExecutor(jobs)
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
