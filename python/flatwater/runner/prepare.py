"""Getting the storage ready for a cell: purge, then write what is missing."""

from __future__ import annotations

import os
import time
from contextlib import suppress

from flatwater._engine import EngineError, Prepare, purge
from flatwater.errors import FlatwaterError, Interrupted
from flatwater.experiment import Experiment, print_size
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.progress import Reporter
from flatwater.runner.spec import prepare_spec
from flatwater.runner.target import Target, forget_contents, plan_preparation

#: Seconds between two saves of how far a preparation got: what a kill -9 can cost.
SAVE_S = 1.0


def prepare_target(cell: Experiment, target: Target, seed: int, reporter: Reporter, interrupt: Interrupt) -> None:
    """Makes a cell's files exist, hold data, and be in the state that the experiment asks for.

    Errors: UserError (not enough space, no TRIM), FlatwaterError (a write failed; a later run goes on from there),
    Interrupted.
    """
    begin = plan_preparation(cell, target)
    if cell.files.purge:
        reporter.phase("purge", None)
        for path in target.paths:
            try:
                purge(path, target.file_bytes)
            except EngineError as error:
                raise FlatwaterError(str(error), where="storage.purge", hint="storage.purge = false") from None
        forget_contents(target)
        # A freshly formatted device is the point: only what will be read must be written first.
        begin = 0 if cell.fileio.read_fraction > 0 or cell.fileio.verify else None
    if begin is not None:
        _write(cell, target, seed, begin, reporter, interrupt)
    _take_over(cell, target)


def _write(cell: Experiment, target: Target, seed: int, begin: int, reporter: Reporter, interrupt: Interrupt) -> None:
    assert target.prepared is not None
    reporter.phase("prepare", None)
    try:
        writers = Prepare(prepare_spec(cell, target, seed, begin, direct=_accepts_direct(target)))
    except EngineError as error:
        raise FlatwaterError(str(error), where="storage.path") from None
    if begin:
        reporter.note(f"{print_size(begin)} of {print_size(writers.total_bytes())} are there already")
    saved = time.monotonic()
    # A full device may not take the manifest either: then the last one stands, which claims less.
    while not writers.join(0.1):
        reporter.written(writers.done_bytes(), writers.total_bytes())
        if interrupt.asked:
            writers.stop()
        if time.monotonic() - saved >= SAVE_S:
            saved = time.monotonic()
            target.prepared = target.prepared.model_copy(update={"done_bytes": writers.done_bytes()})
            with suppress(FlatwaterError):
                target.save()
    failure = writers.failure()
    done = writers.done_bytes()
    whole = failure is None and done == writers.total_bytes()
    target.prepared = target.prepared.model_copy(update={"done_bytes": done, "complete": whole})
    if failure is not None:
        with suppress(FlatwaterError):
            target.save()
        raise FlatwaterError(
            failure,
            where="storage.path",
            hint="mend the cause and run again: what was written is kept, and the preparation goes on from there",
        )
    target.save()
    if not whole:
        raise Interrupted("interrupted while preparing; the next run goes on from there")


def _accepts_direct(target: Target) -> bool:
    """Some file systems have no O_DIRECT; preparing does without, the workload itself will say so."""
    try:
        os.close(os.open(target.paths[0], os.O_WRONLY | os.O_DIRECT))
    except OSError:
        return False
    # A file's last piece may be no whole sector; direct writes of it would fail.
    return target.file_bytes % 4096 == 0


def _take_over(cell: Experiment, target: Target) -> None:
    """Remembers what the cell is about to do to the files: a plain write run leaves blocks without headers."""
    if target.prepared is None:
        return
    changed: dict[str, int] = {}
    if cell.fileio.verify:
        changed["runs"] = target.prepared.runs + 1
    elif cell.fileio.read_fraction < 1 or cell.fileio.precondition_passes:
        changed["stamp_bytes"] = 0
    target.prepared = target.prepared.model_copy(update=changed)
    target.save()
