"""What the journal of a cell says about the cell's phases and events."""

from __future__ import annotations

from collections.abc import Sized
from pathlib import Path

from flatwater.errors import UserError
from flatwater.results.schema import Event, JournalLine, Phase
from flatwater.results.series import read_journal
from flatwater.results.stored import validate

#: Events, or phases, of a cell at most: one a second of three days.
ENTRIES_MAX = 1 << 18


def add_to_phases(phases: list[Phase], line: JournalLine) -> None:
    """Extends the last phase by an interval's line, or begins the next phase; skips an event's line."""
    name, end_s = line.get("phase"), line.get("time_s")
    if not isinstance(name, str) or not isinstance(end_s, int | float):
        return
    if phases and phases[-1].name == name:
        phases[-1].end_s = float(end_s)
    else:
        start_s = float(line.get("start_s", phases[-1].end_s if phases else 0.0))
        phases.append(Phase(name=name, start_s=start_s, end_s=float(end_s)))


def phases_of_journal(journal: Path) -> list[Phase]:
    """The phases of a journal: each is a run of lines with the same `phase`."""
    phases: list[Phase] = []
    for line in read_journal(journal):
        add_to_phases(phases, line)
        require_few(phases, "phases", journal)
    return phases


def events_of_journal(journal: Path) -> list[Event]:
    """The events in a journal."""
    events: list[Event] = []
    for line in read_journal(journal):
        if line.get("event") is not None:
            events.append(validate(Event, line["event"], journal))
            require_few(events, "events", journal)
    return events


def require_few(found: Sized, called: str, journal: Path) -> None:
    """Errors: UserError for more events or phases than a run has: a small archive may hold a journal of gigabytes."""
    if len(found) > ENTRIES_MAX:
        what = f"more than {ENTRIES_MAX:,} {called}, which no run has"
        raise UserError(what, where=str(journal), hint="the result is damaged")
