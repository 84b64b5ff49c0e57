"""What drives said before: one line a reading, in the user's state directory. This file alone reads and writes it.

The folder is one of flatwater's (owned/), and its place follows the rule of caches: /var/lib/flatwater/health for root,
~/.local/state/flatwater/health (XDG_STATE_HOME) for others, or health/ in FLATWATER_STATE_DIR. A history that cannot be
read or written is told in a sentence, and stops nobody: what is damaged in it is left out.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

from flatwater.errors import FlatwaterError, UserError
from flatwater.health.drive import Reading
from flatwater.health.untrusted import UnreadableError, one_line, parse_json
from flatwater.owned import Folder

_FILE, _WHERE = "history.jsonl", "the history of drives"
#: No more is read; a line has some 300 bytes.
READ_BYTES_MAX = 8 << 20
#: From here on it is thinned when a reading is added.
THIN_BYTES = 1 << 20
_LINE_BYTES_MAX = 4096
DAY_S = 86_400.0
#: Of the last month an entry an hour is kept, of what is older one a day.
_RECENT_S, _RECENT_GAP_S = 30 * DAY_S, 3600.0
#: Another flatwater holds the file for milliseconds.
_LOCK_TRIES, _LOCK_PAUSE_S = 20, 0.1


@dataclass(frozen=True)
class Entry:
    """What one drive said at one moment. Field names are the file's."""

    at_s: float
    key: str
    model: str
    used_pct: float | None = None
    spare_pct: float | None = None
    host_written_bytes: float | None = None
    nand_written_bytes: float | None = None
    media_errors: float | None = None
    reallocated: float | None = None
    throttle_events: float | None = None
    hot_minutes: float | None = None
    power_on_hours: float | None = None


_FIGURES = [name for name in Entry.__dataclass_fields__ if name not in ("at_s", "key", "model")]


@dataclass(frozen=True)
class History:
    """What was kept, oldest first."""

    entries: tuple[Entry, ...] = ()
    #: What is wrong with it; empty: nothing.
    trouble: str = ""

    def of(self, key: str, now_s: float) -> list[Entry]:
        """The entries of a drive up to now. Only those since its counters last fell back count: before that it was
        another drive, or its firmware began anew.
        """
        found: list[Entry] = []
        for entry in sorted(self.entries, key=lambda entry: entry.at_s):
            if not key or entry.key != key or entry.at_s > now_s:
                continue
            if found and _fell(found[-1], entry):
                found = []
            found.append(entry)
        return found


def _fell(before: Entry, after: Entry) -> bool:
    pairs = ((getattr(before, name), getattr(after, name)) for name in ("host_written_bytes", "power_on_hours"))
    return any(one is not None and other is not None and other < one for one, other in pairs)


def state_folder() -> Path:
    """Where the history is."""
    own = os.environ.get("FLATWATER_STATE_DIR")
    if own:
        return Path(own).absolute() / "health"
    if os.geteuid() == 0:
        return Path("/var/lib/flatwater/health")
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state") / "flatwater/health"


def load_history(folder: Path | None = None) -> History:
    """The history, as far as it can be read. Never raises for what is in it."""
    path = (folder or state_folder()) / _FILE
    try:
        with path.open("rb") as handle:
            size = handle.seek(0, os.SEEK_END)
            handle.seek(max(0, size - READ_BYTES_MAX))
            data = handle.read(READ_BYTES_MAX)
    except FileNotFoundError:
        return History()
    except (OSError, RuntimeError) as error:
        return History(trouble=f"the history of drives cannot be read: {_why(error)}")
    lines = data.split(b"\n")[1 if size > READ_BYTES_MAX else 0 :]
    return read_lines(lines)


def read_lines(lines: Iterable[bytes]) -> History:
    """The entries of the lines that are some; how many are none is told."""
    entries, damaged = [], 0
    for line in lines:
        if not line.strip():
            continue
        entry = _entry(line)
        if entry is None:
            damaged += 1
        else:
            entries.append(entry)
    some = f"{damaged} line{'' if damaged == 1 else 's'} of the history of drives cannot be read and "
    return History(tuple(entries), some + f"{'is' if damaged == 1 else 'are'} left out" if damaged else "")


def _entry(line: bytes) -> Entry | None:
    if len(line) > _LINE_BYTES_MAX:
        return None
    try:
        told = parse_json(line)
    except UnreadableError:
        return None
    at_s, key = told.at("at_s").number, told.at("key").text
    if at_s is None or not key:
        return None
    figures = {name: told.at(name).number for name in _FIGURES}
    return Entry(at_s=at_s, key=key, model=told.at("model").text, **figures)


def entry_of(reading: Reading) -> Entry | None:
    """What is kept of a reading; None of a drive that nobody can tell from others, or that told nothing."""
    figures = {name: getattr(reading.gauges, name) for name in _FIGURES}
    if not reading.identity.key or all(value is None for value in figures.values()):
        return None
    return Entry(reading.at_s, reading.identity.key, one_line(reading.identity.model), **figures)


def keep(readings: Iterable[Reading], folder: Path | None = None) -> str:
    """Adds readings to the history. Why they could not be kept; empty where they were."""
    entries = [entry for reading in readings if (entry := entry_of(reading)) is not None]
    if not entries:
        return ""
    try:
        _add(folder or state_folder(), entries)
    except (OSError, RuntimeError, FlatwaterError) as error:
        return f"the history of drives was not kept: {_why(error)}"
    return ""


def _why(error: Exception) -> str:
    if isinstance(error, FlatwaterError):
        return error.what
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _add(place: Path, entries: list[Entry]) -> None:
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    text = "".join(_line(entry) for entry in entries)
    with ExitStack() as closing:
        _hold(place, closing)
        # Its ledger is read anew, now that nobody else changes it.
        folder = Folder.open(place, where=_WHERE)
        closing.callback(folder.close)
        descriptor = folder.open_file(_FILE, os.O_WRONLY | os.O_APPEND)
        if descriptor is None:
            descriptor = folder.make_file(_FILE)
        with os.fdopen(descriptor, "ab") as handle:
            # A line that a kill tore is ended, so that only that one is lost.
            torn = handle.tell() > 0 and not _ends_line(place / _FILE)
            handle.write(("\n" if torn else "").encode() + text.encode())
            size = handle.tell()
        if size > THIN_BYTES:
            kept = thinned(load_history(place).entries, entries[-1].at_s)
            folder.write_text(_FILE, "".join(_line(entry) for entry in kept))


def _hold(place: Path, closing: ExitStack) -> None:
    """Keeps others out of the folder until `closing`. Errors: UserError when somebody holds it too long."""
    holder = Folder.open(place, where=_WHERE)
    closing.callback(holder.close)
    for attempt in range(_LOCK_TRIES):
        try:
            holder.lock()
            return
        except UserError:
            if attempt == _LOCK_TRIES - 1:
                raise
            time.sleep(_LOCK_PAUSE_S)


def _ends_line(path: Path) -> bool:
    with path.open("rb") as handle:
        handle.seek(-1, os.SEEK_END)
        return handle.read(1) == b"\n"


def _line(entry: Entry) -> str:
    told = {name: value for name, value in asdict(entry).items() if value is not None}
    return json.dumps(told, separators=(",", ":")) + "\n"


def thinned(entries: Iterable[Entry], now_s: float) -> list[Entry]:
    """Fewer entries of each drive: its first and its last, and between them no two within an hour, or, of what is more
    than a month old, within a day.
    """
    drives: dict[str, list[Entry]] = {}
    for entry in sorted(entries, key=lambda entry: entry.at_s):
        drives.setdefault(entry.key, []).append(entry)
    kept: list[Entry] = []
    for own in drives.values():
        last_s = float("-inf")
        for number, entry in enumerate(own):
            gap_s = _RECENT_GAP_S if now_s - entry.at_s < _RECENT_S else DAY_S
            if entry.at_s - last_s >= gap_s or number == len(own) - 1:
                kept.append(entry)
                last_s = entry.at_s
    return sorted(kept, key=lambda entry: entry.at_s)
