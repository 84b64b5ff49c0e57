"""A real run of `flatwater run`, looked at while it is made."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.pages.server import FLATWATER, PATIENCE_S, end
from benchmarks.programs.flatwater import EXPERIMENT
from benchmarks.recording import HOT_BYTES, Case
from flatwater.errors import FlatwaterError

#: How often the journal is looked at.
_LOOK_S = 0.05


class UnderWay:
    """A run that is being made, and the lines of its journal."""

    def __init__(self, result: Path, child: subprocess.Popen[str]) -> None:
        self.result = result
        self.journal = result / "cells" / "0000" / "journal.jsonl"
        self.lines: list[dict[str, Any]] = []
        self._child = child
        self._read = 0

    def until(self, count: int) -> list[dict[str, Any]]:
        """The lines of the intervals so far, once there are so many of them. Errors: FlatwaterError."""
        waited_from_s = time.monotonic()
        before = len(self.lines)
        while len(self.lines) < count:
            self._look()
            if len(self.lines) > before:
                before, waited_from_s = len(self.lines), time.monotonic()
            if self._child.poll() is not None:
                raise FlatwaterError(f"flatwater run ended with {self._child.returncode} before its time")
            if time.monotonic() - waited_from_s > PATIENCE_S:
                raise FlatwaterError("flatwater run records nothing any more", where=str(self.journal))
            time.sleep(_LOOK_S)
        return self.lines

    def _look(self) -> None:
        if not self.journal.exists():
            return
        with self.journal.open("rb") as handle:
            handle.seek(self._read)
            whole, newline, _ = handle.read().rpartition(b"\n")
        self._read += len(whole + newline)
        self.lines += [line for line in map(json.loads, whole.splitlines()) if "metrics" in line]


@contextmanager
def run_under_way(folder: Path, name: str, case: Case, size_bytes: int, seconds: int) -> Iterator[UnderWay]:
    """16 KiB random reads for so long, or until the end of the block. Its result is `folder/name`."""
    changes = {
        "storage.path": folder / ("hot" if case.hot else "file"),
        "storage.size": HOT_BYTES if case.hot else size_bytes,
        "workload.engine": case.engine,
        "workload.threads": case.threads,
        "workload.queue_depth": case.depth,
        "workload.direct": "false" if case.hot else "true",
        "workload.duration_s": seconds,
    }
    sets = [word for field, value in changes.items() for word in ("--set", f"{field}={value}")]
    result = folder / name
    command = [FLATWATER, "run", str(EXPERIMENT), *sets, "--out", str(result)]
    silent = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, cwd=folder, text=True, **silent) as child:  # type: ignore[call-overload]
        try:
            yield UnderWay(result, child)
        finally:
            end(child)
