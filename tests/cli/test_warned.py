"""A warning is told once a run, with the cells that have it."""

from __future__ import annotations

from flatwater.cli.warned import LINES_MAX, Warned
from flatwater.results import CellSummary


def summary(index: int, *warnings: str, status: str = "complete") -> CellSummary:
    told = {"cell": index, "seed": 1, "status": status, "unit": "IOPS", "set": {"workload.threads": index}}
    return CellSummary.model_validate(told | {"warnings": list(warnings)})


def told(*summaries: CellSummary) -> list[str]:
    warned = Warned()
    for one in summaries:
        warned.add(one, f"threads {one.cell}")
    return warned.lines()


def test_of_one_cell() -> None:
    assert told(summary(1, "slow", "slow")) == ["warning: slow"]


def test_of_several() -> None:
    lines = told(summary(1, "slow", "hot"), summary(2, "slow"), summary(3, "slow", "slow"))
    assert lines == ["warning: slow (3 of 3 cells)", "warning: hot (threads 1)"]


def test_too_many_different_ones_are_counted() -> None:
    lines = told(*(summary(index, f"w{index}") for index in range(LINES_MAX + 5)))
    assert len(lines) == LINES_MAX + 1 and lines[-1] == "warning: and 5 others: the report has all"
