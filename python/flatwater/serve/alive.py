"""Whether a run still lives: one answer for the list, for `/metrics` and for whoever watches.

A result says that it runs until its run ends it. One whose process was killed, and a copy of one that was being made,
say so for ever.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

from flatwater.errors import FlatwaterError
from flatwater.results.lock import is_run
from flatwater.results.opening import read_manifest
from flatwater.serve.folders import Place, find_results
from flatwater.serve.writers import Writers

#: A run that writes nothing for this long, and that no process is seen to write, is told to have stopped.
QUIET_S = 10.0


def why_alive(path: Path, writers: Writers) -> str:
    """Why a result with the status `running` counts as under way, in a sentence; empty if its run has stopped."""
    writer = writers.of(path)
    if writer is not None:
        return f"Process {writer} runs it."
    if is_run(path):
        return "A process of another user or of another machine runs it."
    return "It runs." if quiet_s(path) < QUIET_S else ""


def runs_under_way(folders: Iterable[Path], writers: Writers) -> list[Place]:
    """The runs under way in and below some folders, the one that began last first.

    Results that cannot be read are left out: they are damaged, of a newer flatwater, or just being written.
    """
    found = []
    for place in find_results([folder.absolute() for folder in folders]):
        try:
            manifest = read_manifest(place.path)
        except FlatwaterError:
            continue
        if manifest.status == "running" and why_alive(place.path, writers):
            found.append((manifest.created_at, place.folder, place))
    return [place for _, _, place in sorted(found, reverse=True)]


def quiet_s(path: Path) -> float:
    """How long ago a result was last written, seconds; a time that is to come counts as one that is past."""
    written = [path / "flatwater.json", *path.glob("cells/*/journal.jsonl")]
    return abs(time.time() - max(map(changed, written)))


def changed(path: Path) -> float:
    """When a file was last changed, as `time.time` tells it; 0 if it is not there."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
