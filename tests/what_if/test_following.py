"""Settings that a server changes by itself when another one is changed."""

from __future__ import annotations

from typing import Any

import pytest

from flatwater.what_if.following import follow

CAPACITY, MAX = "innodb_io_capacity", "innodb_io_capacity_max"
COMMIT, BUFFERING = "innodb_flush_log_at_trx_commit", "innodb_log_file_buffering"
DIRTY, LOW = "innodb_max_dirty_pages_pct", "innodb_max_dirty_pages_pct_lwm"


@pytest.mark.parametrize(
    ("settings", "changed", "after", "told"),
    [
        ({CAPACITY: 4000, MAX: 2000}, [CAPACITY], 8000, True),
        ({CAPACITY: "4000", MAX: "2000"}, [CAPACITY], 8000, True),
        ({CAPACITY: 2000, MAX: 2000}, [CAPACITY], 2000, False),
        ({CAPACITY: 4000, MAX: 3000}, [CAPACITY, MAX], 3000, False),
        ({CAPACITY: 4000, MAX: 2000}, [DIRTY], 2000, False),
        ({DIRTY: 5.0, LOW: 10.0}, [DIRTY], 5.0, True),
        ({DIRTY: 50.0, LOW: 10.0}, [DIRTY], 10.0, False),
        ({CAPACITY: [4000], MAX: 2000}, [CAPACITY], 2000, False),
    ],
)
def test_what_follows(settings: dict[str, Any], changed: list[str], after: float, told: bool) -> None:
    after_all = dict(settings)
    notes = follow(after_all, [f"database.settings.{name}" for name in changed])
    follows = MAX if MAX in settings else LOW
    assert float(after_all[follows]) == after
    assert [follows in note for note in notes] == [True] * told


@pytest.mark.parametrize(
    ("commit", "buffering", "written", "after"),
    [
        (2, "OFF", [], True),
        (1, "ON", [], False),
        (0, "ON", [], False),
        (2, "ON", [], "ON"),
        (2, False, [], True),
        (1, "ON", [BUFFERING], "ON"),
    ],
)
def test_the_log_is_buffered_where_it_is_synced_once_a_second(
    commit: int, buffering: Any, written: list[str], after: Any
) -> None:
    settings = {COMMIT: commit, BUFFERING: buffering}
    notes = follow(settings, [f"database.settings.{COMMIT}"], written)
    assert settings[BUFFERING] == after
    word = "ON" if after else "OFF"
    assert notes == (
        [] if after == buffering else [f"with {BUFFERING} = {word}, to which the server changes it itself"]
    )
