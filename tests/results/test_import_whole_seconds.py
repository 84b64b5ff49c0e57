"""Readings a little more than a second apart with times in whole seconds invent no dips, and hide none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from flatwater.results.importers import FORMATS, Options, read_folder
from flatwater.results.importers.samplers.whole_seconds import evened

N = 300
TABLE = (
    "+---+---+\n| Variable_name | Value |\n+---+---+\n| Aborted_clients | 0 |\n| Com_commit | {} |\n| Uptime | {} |\n"
)


def uptimes(step_s: float) -> list[float]:
    return [10_000.5 + step_s * number for number in range(N)]


def mysqladmin(times: list[float], commits: list[float]) -> str:
    return "".join(TABLE.format(round(count), int(at)) for at, count in zip(times, commits, strict=True))


def relative(times: list[float], commits: list[float]) -> str:
    whole = [int(at) for at in times]
    first = mysqladmin(times[:1], commits[:1])
    rest = [
        TABLE.format(round(commits[place]) - round(commits[place - 1]), whole[place] - whole[place - 1])
        for place in range(1, len(whole))
    ]
    return first + "".join(rest)


def counters(times: list[float], commits: list[float]) -> str:
    rows = [f"{1_795_990_000 + int(at)},{round(count)}" for at, count in zip(times, commits, strict=True)]
    return "\n".join(["timestamp,com_commit", *rows]) + "\n"


FORMS: dict[str, Callable[[list[float], list[float]], str]] = {
    "mysqladmin": mysqladmin,
    "mysqladmin-r": relative,
    "counters": counters,
}


def rates(place: Path, text: str) -> list[float]:
    (place / "x.txt").write_text(text)
    (cell,) = read_folder([place], FORMATS, Options()).cells
    return [one.metrics["workload.throughput"] for one in cell.intervals]


@pytest.mark.parametrize("step_s", [1.003, 1.005, 1.01, 1.05, 2.02, 5.05])
@pytest.mark.parametrize("form", FORMS)
def test_no_dip_is_invented(tmp_path: Path, form: str, step_s: float) -> None:
    times = uptimes(step_s)
    found = rates(tmp_path, FORMS[form](times, [1000 + 100 * (at - times[0]) for at in times]))
    assert min(found) > 95
    assert max(found) < 107


@pytest.mark.parametrize("form", FORMS)
def test_readings_that_are_missing_are_no_skips(tmp_path: Path, form: str) -> None:
    times = [at for number, at in enumerate(uptimes(1.0)) if number % 60 != 30]
    found = rates(tmp_path, FORMS[form](times, [1000 + 100 * (at - times[0]) for at in times]))
    assert set(found) == {100.0}


def test_times_that_are_no_whole_seconds_are_as_they_are() -> None:
    times = uptimes(1.01)
    assert evened(times) == times
    assert evened([1.0, 2.0]) == [1.0, 2.0]
    assert evened([]) == []
