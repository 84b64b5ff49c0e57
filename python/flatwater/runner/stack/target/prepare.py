"""Prepares the storage for a cell: makes its files, purges them, and writes what is missing."""

from __future__ import annotations

import os
import time
import uuid
from contextlib import suppress
from pathlib import Path

from flatwater._engine import EngineError, Prepare, purge
from flatwater.engine_json import to_json
from flatwater.errors import FlatwaterError, Interrupted, UserError
from flatwater.experiment import Experiment, print_size
from flatwater.owned import FOLDER_FLAGS, Witness, create_file, publish
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.progress import Reporter
from flatwater.runner.resuming import CannotResume
from flatwater.runner.stack.target.manifest import Prepared, PreparedFile
from flatwater.runner.stack.target.opening import require_unchanged
from flatwater.runner.stack.target.plans import preparation_of_target
from flatwater.runner.stack.target.target import Target, boot_id, check_space

#: Seconds between two saves of the progress of a preparation: a kill loses at most this much.
SAVE_S = 1.0


def prepare_target(
    cell: Experiment, target: Target, seed: int, reporter: Reporter, interrupt: Interrupt, *, resumed: bool = False
) -> None:
    """Makes a cell's files, writes their data, and brings them into the state that the experiment asks for. With
    `resumed` the files must be in the state of the killed run: to purge or fill them again would change the result.

    Errors: UserError (not enough space, no TRIM), FlatwaterError (a write failed; a later run continues from there),
    Interrupted; CannotResume when the state has changed.
    """
    begin = _plan(cell, target)
    only_written = cell.files.purge and cell.fileio.read_fraction == 0 and not cell.fileio.verify
    if resumed and begin is not None and not only_written:
        raise CannotResume("what it wrote to is gone, or was changed by others")
    target.grant()
    if resumed:
        begin = None
    elif cell.files.purge and target.permit is not None:
        reporter.phase("purge", None)
        for path in target.paths:
            try:
                purge(path, to_json(target.permit.files), target.file_bytes)
            except EngineError as error:
                raise FlatwaterError(str(error), where="storage.purge", hint="storage.purge = false") from None
        _forget_contents(target)
        # The experiment wants a freshly formatted device: only data that will be read are written first.
        begin = 0 if cell.fileio.read_fraction > 0 or cell.fileio.verify else None
    if begin is not None:
        _write(cell, target, seed, begin, reporter, interrupt)
    _take_over(cell, target)


def _plan(experiment: Experiment, target: Target) -> int | None:
    """Makes the target's files; the offset from which they must be written, or None if nothing is missing.

    Errors: UserError when there is not enough space.
    """
    if not target.writable:
        return None
    workload = experiment.fileio
    stamp = max(workload.block_sizes) if workload.verify else 0
    old = target.prepared
    keep = (
        old is not None
        and len(old.files) == len(target.paths)
        and old.compressible_pct == workload.compressible_pct
        and (stamp in (0, old.stamp_bytes))
        and (old.complete or old.boot_id == boot_id())
        and (old.file_bytes == target.file_bytes or len(target.paths) == 1)
        and (target.kind == "device" or all(target.is_whole(path) for path in target.paths))
    )
    done = min(old.done_bytes, target.used_bytes) if keep and old is not None else 0
    if done != target.used_bytes:
        require_unchanged(target)
    _remove_others(target)
    check_space(target, target.used_bytes)
    entries, missing = _entries(target)
    target.prepared = Prepared(
        set_id=old.set_id if keep and old is not None else uuid.uuid4().int >> 65,
        files=entries,
        file_bytes=target.file_bytes,
        done_bytes=done,
        boot_id=boot_id(),
        complete=done == target.used_bytes,
        compressible_pct=workload.compressible_pct,
        stamp_bytes=stamp or (old.stamp_bytes if keep and old is not None else 0),
        runs=old.runs if keep and old is not None else 0,
    )
    _publish(target, missing)
    if target.kind != "device":
        for path in target.paths:
            if path.stat().st_size != target.file_bytes:
                _set_length(target, path)
    return None if done == target.used_bytes else done


def _entries(target: Target) -> tuple[list[PreparedFile], list[tuple[str, Path]]]:
    """The manifest's entries for the target's files, and the new files, under random names, for missing ones.

    Errors: FlatwaterError.
    """
    entries: list[PreparedFile] = []
    missing: list[tuple[str, Path]] = []
    folder = os.open(target.paths[0].parent, FOLDER_FLAGS)
    try:
        for path in target.paths:
            known = target.known(path)
            if target.kind == "device":
                entries.append(PreparedFile(name=path.name, adopted=True))
                continue
            if known is not None:
                settled_ns = known.settled_ns if path in target.changed else None
                entries.append(known.model_copy(update={"settled_ns": settled_ns}))
                continue
            adopted = os.path.lexists(path)
            if adopted:  # the user allowed it, or the check would have refused
                descriptor = target.open(path)
            else:
                partial, descriptor = create_file(folder)
                missing.append((partial, path))
            try:
                entries.append(PreparedFile(name=path.name, witness=Witness.put(descriptor), adopted=adopted))
            finally:
                os.close(descriptor)
    except OSError as error:
        for partial, _ in missing:
            with suppress(OSError):
                os.unlink(partial, dir_fd=folder)
        raise FlatwaterError(f"cannot create {path}: {error.strerror}", where="storage.path") from None
    finally:
        os.close(folder)
    return entries, missing


def _publish(target: Target, missing: list[tuple[str, Path]]) -> None:
    """Saves the manifest, and then gives the new files their names: a kill leaves no unknown file.

    Errors: FlatwaterError; UserError when a name is taken. New files that have no name by then are deleted.
    """
    if not missing:
        target.save()
        return
    folder = os.open(target.paths[0].parent, FOLDER_FLAGS)
    left = [partial for partial, _ in missing]
    try:
        target.save()
        for partial, path in missing:
            publish(folder, partial, path.name)
            left.remove(partial)
    except FileExistsError:
        raise UserError(
            f"{path} was made by something else a moment ago: it will not be touched",
            where="storage.path",
            hint="move it, or choose another path",
        ) from None
    except OSError as error:
        raise FlatwaterError(f"cannot create {path}: {error.strerror}", where="storage.path") from None
    finally:
        for partial in left:
            with suppress(OSError):
                os.unlink(partial, dir_fd=folder)
        os.close(folder)
    if target.kind == "file":
        # Until now only the directory was locked, and others may use it.
        target.lock_file()


def _set_length(target: Target, path: Path) -> None:
    """Makes a file as long as the workload needs it, if it is still the file in the manifest.

    Errors: UserError for another file, FlatwaterError.
    """
    try:
        descriptor = target.open(path, os.O_RDWR)
    except OSError as error:
        raise FlatwaterError(f"cannot use {path}: {error.strerror}", where="storage.path") from None
    try:
        target.require_known(path, descriptor)
        os.ftruncate(descriptor, target.file_bytes)
    except OSError as error:
        raise FlatwaterError(f"cannot set the length of {path}: {error.strerror}", where="storage.path") from None
    finally:
        os.close(descriptor)


def _remove_others(target: Target) -> None:
    """Deletes the surplus files of an experiment with more files: their space is needed, their data are not. Files that
    another program changed stay, and leave the manifest.
    """
    if target.kind != "directory" or target.prepared is None:
        return
    wanted = {path.name for path in target.paths}
    for entry in target.prepared.files:
        path = target.path / entry.name
        # The names come from a manifest. Nothing outside the directory belongs to it.
        if entry.name not in wanted and path.parent == target.path:
            target.delete(path)


def _forget_contents(target: Target) -> None:
    """After a purge the files exist, but are empty."""
    if target.prepared is not None:
        target.prepared = target.prepared.model_copy(update={"done_bytes": 0, "complete": False})
        target.save()


def _write(cell: Experiment, target: Target, seed: int, begin: int, reporter: Reporter, interrupt: Interrupt) -> None:
    assert target.prepared is not None
    reporter.phase("prepare", None)
    try:
        writers = Prepare(to_json(preparation_of_target(cell, target, seed, begin, direct=_accepts_direct(target))))
    except EngineError as error:
        raise FlatwaterError(str(error), where="storage.path") from None
    if begin:
        reporter.note(f"{print_size(begin)} of {print_size(writers.total_bytes())} are there already")
    saved = time.monotonic()
    # A full device may not store the manifest either. The last saved manifest then claims less than there is.
    while not writers.join(0.1):
        reporter.written(writers.done_bytes(), writers.total_bytes())
        if interrupt.requested:
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
    """Whether the file system has O_DIRECT. The preparation works without it; the workload reports the error itself."""
    try:
        os.close(os.open(target.paths[0], os.O_WRONLY | os.O_DIRECT))
    except OSError:
        return False
    # The last piece of a file may be smaller than a sector: direct writes of it would fail.
    return target.file_bytes % 4096 == 0


def _take_over(cell: Experiment, target: Target) -> None:
    """Records what the cell will do to the files: a write workload without stamps leaves blocks without headers."""
    if target.prepared is None:
        return
    changed: dict[str, int] = {}
    if cell.fileio.verify:
        changed["runs"] = target.prepared.runs + 1
    elif cell.fileio.read_fraction < 1 or cell.fileio.precondition_passes:
        changed["stamp_bytes"] = 0
    target.prepared = target.prepared.model_copy(update=changed)
    target.save()
