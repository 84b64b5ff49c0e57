"""What came out of the steps, a file a server: written by the tests, read for the page."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.servers.cache import cache_folder
from flatwater.owned import write_atomic


@dataclass(frozen=True)
class Record:
    """One step on one server."""

    step: str
    #: What ran it: `MySQL 5.7.22`.
    server: str
    #: When it ended, in local time with its zone.
    when: str
    passed: bool
    took_s: float
    figures: tuple[str, ...] = ()
    #: What this server does not have, of what the step looks at.
    missing: tuple[str, ...] = ()
    #: Why it failed.
    failure: str = ""


def now() -> str:
    """The time as records have it."""
    return time.strftime("%Y-%m-%d %H:%M %Z")


def records_file(server: str) -> Path:
    """Where the records of a server are."""
    return cache_folder() / "records" / f"{server}.json"


def read_records(server: str) -> dict[str, Record]:
    """The newest record of each step; empty if the server was not tried here."""
    try:
        told = json.loads(records_file(server).read_text())
        return {
            step: Record(**{**one, "figures": tuple(one["figures"]), "missing": tuple(one["missing"])})
            for step, one in told.items()
        }
    except FileNotFoundError:
        return {}


def write_record(server: str, record: Record) -> None:
    """Adds a record, in place of an older one of the same step."""
    kept = {step: asdict(one) for step, one in (read_records(server) | {record.step: record}).items()}
    path = records_file(server)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, json.dumps(kept, indent=1))
