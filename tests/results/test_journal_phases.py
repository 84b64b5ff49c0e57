"""Phases and events are read from the lines of a journal."""

from __future__ import annotations

import json
from pathlib import Path

from flatwater.results import Phase
from flatwater.results.journal_phases import add_to_phases, events_of_journal, phases_of_journal


def test_lines_of_the_same_phase_are_one_phase(tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    lines = [
        {"time_s": 1.0, "phase": "warmup", "metrics": {}},
        {"event": {"kind": "seam", "time_s": 1.5, "text": "resumed"}},
        {"time_s": 2.0, "phase": "measure", "metrics": {}},
        {"time_s": 3.0, "phase": "measure", "metrics": {}},
    ]
    journal.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert phases_of_journal(journal) == [
        Phase(name="warmup", start_s=0, end_s=1),
        Phase(name="measure", start_s=1, end_s=3),
    ]
    assert [event.kind for event in events_of_journal(journal)] == ["seam"]


def test_a_phase_begins_where_its_line_says() -> None:
    phases: list[Phase] = []
    add_to_phases(phases, {"time_s": 7.0, "start_s": 5.0, "phase": "measure"})
    assert phases == [Phase(name="measure", start_s=5, end_s=7)]
