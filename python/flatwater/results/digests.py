"""The statements of a server that was observed: how often each form (digest) ran over time, and samples of them.

A file of JSON lines beside the journal, which `workload.kind = "query-log"` replays. `crates/core` reads it
(workload/query_log/digests.rs); a torn last line is passed over.

    {"flatwater_digests": 1, "samples": true}                       the head; again where the observing was resumed
    {"statement": 1, "schema": "shop", "digest": "...", "text": "SELECT ..."}    also "left_out": own, session, no-room
    {"sample": 1, "sql": "SELECT ..."}                              without "sql": the server had a part of it only
    {"start_s": 1.0, "end_s": 2.0, "counts": [[1, 17, 2500.0]]}     number, count, microseconds in the server
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from flatwater.owned import own_alone

#: The name of the file.
DIGESTS = "digests.jsonl"
#: Samples have the values of users in them: nobody else on this machine reads them.
_MODE = 0o600


@dataclass(frozen=True)
class Form:
    """A form of statement, as performance_schema tells them apart."""

    number: int
    schema: str
    digest: str
    #: Without values.
    text: str
    #: Why it is never sent again: `own` (a question of flatwater's), `session` (BEGIN, SET, DDL), `no-room` (all those
    #: for which the server's table had no room); empty for the others.
    left_out: str = ""


@dataclass(frozen=True)
class Look:
    """What a look at the digests found, in seconds of the monotonic clock."""

    start_s: float
    end_s: float
    #: Number of the form, how often it ran since the look before, microseconds.
    counts: Sequence[tuple[int, int, float]] = ()
    #: Forms that were not seen before.
    forms: Sequence[Form] = ()
    #: Number of the form, and a statement of it; None if the server keeps a part of it only.
    samples: Sequence[tuple[int, str | None]] = field(default=())


class DigestFile:
    """Adds looks to the file, each at once: a kill loses none that was added."""

    def __init__(self, path: Path, *, samples: bool) -> None:
        """`samples`: they were asked for. Errors: OSError."""
        self.path = path
        own_alone(path)
        self._handle = os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, _MODE), "a")
        # A kill may have torn the last line.
        self._handle.write("\n" if path.stat().st_size else "")
        self._write({"flatwater_digests": 1, "samples": samples})
        self._handle.flush()

    def __enter__(self) -> DigestFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def add(self, look: Look, zero_s: float) -> None:
        """Adds a look; `zero_s` is the cell's beginning on the clock of its times. Errors: OSError."""
        for form in look.forms:
            line = {"statement": form.number, "schema": form.schema, "digest": form.digest, "text": form.text}
            self._write(line | ({"left_out": form.left_out} if form.left_out else {}))
        for number, sql in look.samples:
            self._write({"sample": number} | ({"sql": sql} if sql is not None else {}))
        if look.counts:
            start_s, end_s = (round(max(0.0, at_s - zero_s), 6) for at_s in (look.start_s, look.end_s))
            self._write({"start_s": start_s, "end_s": end_s, "counts": [list(one) for one in look.counts]})
        self._handle.flush()

    def _write(self, line: dict[str, object]) -> None:
        # The head is known by its first bytes.
        self._handle.write(json.dumps(line, separators=(",", ":")) + "\n")

    def close(self) -> None:
        """Ends it. Errors: OSError."""
        self._handle.close()


def digests_in(folder: Path) -> Path | None:
    """The record of a result folder of `flatwater observe`, also of one that was killed; None if it has none."""
    for place in ("servers/0000", "cells/0000"):
        if (folder / place / DIGESTS).is_file():
            return folder / place / DIGESTS
    return None
