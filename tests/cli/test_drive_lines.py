"""What a run did to its drives is told once: of the cell that wears them most."""

from __future__ import annotations

from flatwater.cli.drive_lines import DriveLines
from flatwater.results import CellSummary
from flatwater.results.health import CellHealth, DriveHealth, LifeSpan


def summary(index: int, years: float | None, *text: str) -> CellSummary:
    told = CellSummary(cell=index, seed=1, status="complete", unit="IOPS")
    drive = DriveHealth(device="card", workload_life=LifeSpan(years=years))
    told.health = CellHealth(drives=[drive], text=list(text))
    return told


def lines(*summaries: CellSummary) -> list[str]:
    found = DriveLines()
    for one in summaries:
        found.add(one, f"cell {one.cell}")
    return found.lines()


def test_one_cell_tells_all_that_is_of_life() -> None:
    told = lines(summary(0, 3, "each request wrote 4 kB", "card: its wear cannot be seen", "card: of its rated life"))
    assert told == ["drives: each request wrote 4 kB", "drives: card: of its rated life"]


def test_of_several_the_hardest_counts() -> None:
    told = lines(summary(0, 3, "a life of 3"), summary(1, 1, "a life of 1"), summary(2, None, "no life"))
    assert told == ["drives: cell 1 wears them most: a life of 1"]


def test_nothing_to_tell() -> None:
    assert lines() == []
    assert lines(CellSummary(cell=0, seed=1, status="complete", unit="IOPS")) == []
    assert lines(summary(0, None, "wrote"), summary(1, None, "wrote")) == []
