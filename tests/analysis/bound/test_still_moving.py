"""What had not settled when a run ended, in both directions."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from flatwater.analysis.bound import read_evidence, still_moving

sys.path.insert(0, str(Path(__file__).parents[1]))
from known_series import make_result

MODELLED: dict[str, Any] = {
    "workload": {"kind": "tpcc"},
    "database": {"kind": "innodb-model", "generation": "mysql-5.7"},
    "storage": {"kind": "ssd", "device": "intel-x25-e"},
}
SECONDS = 60
#: Of this largest age, a MySQL 5.7 flushes at any price from 7/8 on.
MAX_AGE = 800e6
SETTLED: dict[str, Sequence[float]] = {
    "database.checkpoint_age_max_bytes": [MAX_AGE] * SECONDS,
    "database.checkpoint_age_bytes": [300e6] * SECONDS,
    "database.pages_free": [1000.0] * SECONDS,
    "database.pages_data": [9000.0] * SECONDS,
    "database.pages_read_per_s": [500.0] * SECONDS,
}


def line(first: float, last: float) -> list[float]:
    return [first + (last - first) * second / (SECONDS - 1) for second in range(SECONDS)]


def told(tmp_path: Path, more: Mapping[str, Sequence[float]], tables: dict[str, Any] = MODELLED) -> list[str]:
    layers = {name: "modelled" if name in tables else "none" for name in ("workload", "database", "storage")}
    lines = {name: list(values) for name, values in more.items()}
    result = make_result(tmp_path / "run", [({}, 0, [1000.0] * SECONDS)], more=lines, experiment=tables, layers=layers)
    return still_moving(read_evidence(result.cells[0]))


def test_an_age_that_rises_is_told_with_when_it_would_reach_the_limit(tmp_path: Path) -> None:
    (text,) = told(tmp_path, SETTLED | {"database.checkpoint_age_bytes": line(100e6, 400e6)})
    # 5.08 MB a second, and 300 MB are left to 700 MB.
    assert "rose, by 4.85 MiB a second" in text, text
    assert "381 MiB at most" in text, text
    assert "668 MiB" in text, text
    assert "after 59 s more" in text, text


def test_a_pool_that_fills_is_told(tmp_path: Path) -> None:
    fills = {"database.pages_free": line(6000, 1000), "database.pages_data": line(4000, 9000)}
    (text,) = told(tmp_path, SETTLED | fills)
    assert "10 % of it was free in the end" in text, text
    assert "84.7 pages were filled a second" in text, text


@pytest.mark.parametrize(
    "lines",
    [
        {},
        {"database.checkpoint_age_bytes": line(400e6, 100e6)},
        # It was at the limit, or it swings below it: both were measured.
        {"database.checkpoint_age_bytes": line(400e6, 690e6)},
        {"database.checkpoint_age_bytes": [100e6 + 20e6 * (second % 10) for second in range(SECONDS)]},
        # Checkpoints of a server that owes next to nothing.
        {"database.checkpoint_age_bytes": line(1e6, 5e6)},
        # Data that grow take free pages, and are not read.
        {"database.pages_free": line(6000, 1000), "database.pages_read_per_s": [1.0] * SECONDS},
        {"database.pages_free": line(1000, 6000)},
    ],
)
def test_what_has_settled_is_not_told(tmp_path: Path, lines: Mapping[str, Sequence[float]]) -> None:
    assert told(tmp_path, {**SETTLED, **lines}) == []


@pytest.mark.parametrize("missing", SETTLED)
def test_what_was_not_recorded_is_not_guessed(tmp_path: Path, missing: str) -> None:
    moving = SETTLED | {"database.checkpoint_age_bytes": line(100e6, 400e6), "database.pages_free": line(6000, 1000)}
    del moving[missing]
    assert len(told(tmp_path, moving)) == 1


def test_a_run_without_a_database_has_nothing_to_settle(tmp_path: Path) -> None:
    assert told(tmp_path, {}, {}) == []
