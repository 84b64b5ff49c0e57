"""Faults that a server of the matrix meets while it is measured: what the user is told, and that nothing is left.

`kill -9` is a step of its own (`steps.py`), because a restart follows it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from benchmarks.servers.bench import MEASURED, Bench, Running, Table, error_of, oltp, require, require_gone
from flatwater.results import open_result

#: The small file system: room for the data of every server, and for the log of its loading.
_DISK_BYTES = 1536 << 20
#: What is done until the disk is full, and then: rows that make tables grow.
_INSERTS: Table = {**oltp("insert", 600.0), "warmup_s": 0}
#: More clients than the server takes; flatwater needs a connection of its own.
_CLIENTS, _TAKEN = 20, 10
_FROZEN_S = 3.0
#: A run that has recorded its failure has ended after this long, also on a busy machine.
_ENDS_S = 60.0


def freeze(bench: Bench) -> tuple[str, ...]:
    """SIGSTOP: the run goes on, the gap is in its record, and the server works again."""
    database: Table = {"fault": {"kind": "freeze", "at_s": 3, "duration_s": _FROZEN_S}}
    result, _ = bench.run(oltp("read_write", 10.0), None, database, record={"interval_s": 0.5})
    (cell,) = result.cells
    summary = cell.summary
    assert summary is not None
    times = {event.kind: event.time_s for event in cell.events}
    require({"fault", "recovered"} <= times.keys(), "the freeze is not among the events")
    require(summary.errors == 0, f"{summary.errors} transactions ended with an error")
    series = cell.series("workload", "throughput")
    still = series.value[(series.time_s > times["fault"] + 0.6) & (series.time_s < times["recovered"] - 0.1)]
    require(len(still) and not still.any(), "a frozen server did transactions")
    require(series.value[series.time_s > times["recovered"] + 0.6].any(), "it did nothing after it was thawed")
    return (f"frozen for {times['recovered'] - times['fault']:.1f} s, no error, and it goes on",)


def connections(bench: Bench) -> tuple[str, ...]:
    """More clients than max_connections: one line that says what to do."""
    file, out = bench.write({**oltp("read_write"), "connections": _CLIENTS}, {"max_connections": _TAKEN})
    told = bench.fails("run", file, "--out", out)
    require("Too many connections" in told, f"it is not told that there are too many connections: {told}")
    require("workload.connections" in told, f"it is not told what to do: {told}")
    return (f"{_CLIENTS} clients, max_connections = {_TAKEN}: refused in one line",)


def full_disk(bench: Bench) -> tuple[str, ...]:
    """The disk fills up while the server is measured: the run ends with a line, or waits and says what for."""
    with small_disk(bench.folder) as disk:
        file, out = bench.write(_INSERTS, {"innodb_flush_log_at_trx_commit": 0}, storage=disk)
        with bench.running("run", file, out=out) as run:
            found = _until_told(run, disk)
        told = run.said
        require("Traceback" not in told and "panicked" not in told, "flatwater ended with a traceback")
        require_gone(disk)
        summary = open_result(out).cells[0].summary
        require(summary is not None and summary.operations, "what was measured before is lost")
    if found:
        return (f"the server waits for room, and the run says so: {found}",)
    require(run.process.returncode == 1, f"exit code {run.process.returncode}")
    line = error_of(told)
    require("full" in line or "No space left" in line, f"it is not told that the disk is full: {line}")
    return ("the run ends with one line that says that the disk is full",)


def _until_told(run: Running, disk: Path) -> str:
    """Fills the disk under a run, until the run has ended ("") or has recorded that the server waits (the event)."""
    run.until_ended_or(MEASURED, "the third interval")
    _fill(disk)
    answer = re.compile(r'"fault"[^\n]*full[^\n]*', re.IGNORECASE)
    event = run.until_ended_or(answer, "an answer to the full disk")
    if event is None or run.process.poll() is not None:
        return ""
    # A run whose transactions fail records that first, and then ends. One whose server waits goes on.
    with suppress(subprocess.TimeoutExpired):
        run.process.wait(_ENDS_S)
        return ""
    (disk / "ballast").unlink()
    run.end(signal.SIGINT)
    return text_of(event[0])


def text_of(line: str) -> str:
    """The whole text of an event, from a part of its line in the journal."""
    found = re.search(r'"text": *("(?:[^"\\]|\\.)*")', line)
    return " ".join(str(json.loads(found[1])).split()) if found else "the disk is full"


def _fill(folder: Path) -> None:
    with (folder / "ballast").open("wb", buffering=0) as handle:
        for piece in (2**20, 4096):
            with suppress(OSError):
                while True:
                    handle.write(bytes(piece))


def can_mount() -> str:
    """Why no small file system can be made here; empty if it can."""
    if os.geteuid() != 0:
        return "only root can mount a small file system"
    missing = [name for name in ("mkfs.ext4", "mount", "umount") if shutil.which(name) is None]
    return f"there is no {missing[0]}" if missing else ""


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A file system of its own below a folder. Errors: StepFailed."""
    image, place = folder / "disk.img", folder / "disk"
    place.mkdir(exist_ok=True)
    with image.open("wb") as handle:
        handle.truncate(_DISK_BYTES)
    for command in (["mkfs.ext4", "-q", str(image)], ["mount", "-o", "loop", str(image), str(place)]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        require(done.returncode == 0, f"{command[0]}: {' '.join(done.stderr.split())}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=False)
        image.unlink()
