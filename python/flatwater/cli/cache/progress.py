"""Progress of a long operation: a bar on a terminal, else nothing. Ctrl-C is requested, it raises no exception."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from flatwater.printing import make_console

if TYPE_CHECKING:
    from flatwater.cache.messages import ShownJob

#: Called with the finished amount and the total.
Advance = Callable[[int, int], None]


@contextmanager
def bar(title: str, *, unit_bytes: int | None, quiet: bool) -> Iterator[Advance]:
    """A bar that ends at its total; `unit_bytes` shows blocks as bytes."""
    if quiet or not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    count = [DownloadColumn(binary_units=True), TransferSpeedColumn()] if unit_bytes else [MofNCompleteColumn()]
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), *count, TimeRemainingColumn())
    with Progress(*columns, console=make_console(stderr=True), transient=True) as progress:
        task = progress.add_task(title, total=None)
        scale = unit_bytes or 1
        yield lambda done, total: progress.update(task, completed=done * scale, total=(total or 0) * scale or None)


def follow_job(name: str, job: int, title: str, *, unit_bytes: int | None, quiet: bool) -> ShownJob:
    """Waits for a job of a running cache, with a bar. Errors: FlatwaterError when it failed or was stopped."""
    from flatwater.cache.control import watch_job

    with bar(title, unit_bytes=unit_bytes, quiet=quiet) as advance:
        return watch_job(name, job, lambda found: advance(found.get("done", 0), found.get("total") or 0))
