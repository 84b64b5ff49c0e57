"""Notes of a cache: the last are kept, all are in the log."""

from __future__ import annotations

import pytest

from flatwater.cache.notes import HANDED_OVER, NOTES_MAX, Notes


def test_the_last_notes_are_kept_and_handed_over(capfd: pytest.CaptureFixture[str]) -> None:
    notes = Notes([[1.0, "before"]])
    assert notes.all() == [(1.0, "before")]
    for number in range(NOTES_MAX):
        notes.add(f"note {number}", at_s=float(number))
    assert len(notes.all()) == NOTES_MAX and notes.all()[0] == (0.0, "note 0")
    assert notes.handed_over() == notes.all()[-HANDED_OVER:]
    assert "note 0" in capfd.readouterr().out
