"""Plans that depend on a cell and on its files: which files exist, and what was prepared in them."""

from __future__ import annotations

from dataclasses import replace

from flatwater.experiment import Experiment
from flatwater.plan.fileio import RealFileio, Verify, preconditioning, write_real_fileio
from flatwater.plan.preparation import Preparation
from flatwater.runner.stack.target.target import Target

#: Each verified run uses larger generations than all runs before it: enough for 2^16 rewrites of a block in one run.
GENERATIONS_PER_RUN = 1 << 16
#: Threads that write in a preparation: enough to fill the queue of any device with requests of 1 MiB.
PREPARE_THREADS = 8


def plan_of_target(cell: Experiment, target: Target, seed: int) -> RealFileio:
    """The plan of a cell's workload on the files of a target."""
    verify = None
    if cell.fileio.verify and target.prepared is not None:
        base = (target.prepared.runs * GENERATIONS_PER_RUN) % (1 << 30)
        verify = Verify(set_id=target.prepared.set_id, generation_base=base)
    return write_real_fileio(cell, target.paths, target.file_bytes, seed, permit=target.permit, verify=verify)


def precondition_of_target(cell: Experiment, target: Target, seed: int) -> RealFileio:
    """SNIA's workload-independent preconditioning: sequential writes of several times the used size."""
    return replace(preconditioning(cell.fileio, plan_of_target(cell, target, seed)), fault=None)


def preparation_of_target(cell: Experiment, target: Target, seed: int, done_bytes: int, *, direct: bool) -> Preparation:
    """The plan to write the files of a target, after the first `done_bytes` bytes."""
    assert target.prepared is not None and target.permit is not None
    return Preparation(
        paths=tuple(str(path) for path in target.paths),
        permit=target.permit.files,
        file_bytes=target.file_bytes,
        done_bytes=done_bytes,
        threads=PREPARE_THREADS,
        direct=direct,
        device=target.kind == "device",
        compressible_pct=cell.fileio.compressible_pct,
        stamp_bytes=target.prepared.stamp_bytes,
        set_id=target.prepared.set_id,
        seed=seed,
    )
