"""`[cost]`: what may be written."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from flatwater.experiment import InvalidExperimentError, load, to_toml

FILE = """\
[workload]
kind = "fileio"
mode = "rndwr"

[storage]
kind = "ssd"
device = "intel-910-2x200"

[cost]
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "priced.toml"
    path.write_text(FILE + text)
    return path


def test_it_is_read_and_written_back(tmp_path: Path) -> None:
    text = 'years = 5\ndate = 2010-06-14\nprices = "mine.toml"\n[[cost.items]]\nline = "card"\nquantity = 0\n'
    experiment = load(written(tmp_path, text))
    assert experiment.cost is not None and experiment.cost.date == datetime.date(2010, 6, 14)
    assert [(one.line, one.quantity) for one in experiment.cost.items] == [("card", 0)]
    again = tmp_path / "again.toml"
    again.write_text(to_toml(experiment))
    assert load(again).cost == experiment.cost


def test_a_day_on_the_command_line(tmp_path: Path) -> None:
    experiment = load(written(tmp_path, "years = 1\n"), ["cost.date=2009-05-01"])
    assert experiment.cost is not None and experiment.cost.date == datetime.date(2009, 5, 1)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("years = 0", 10, "must be more than 0"),
        ("years = 99", 10, "must be at most 30"),
        ("date = 2999-01-01", 10, "has not come yet"),
        ('date = "soon"', 10, "must be a day"),
        ("date = 3", 10, "must be a day"),
        ("[[cost.items]]\nquantity = 1", 10, "line: is missing"),
        ('[[cost.items]]\nline = "card"\nquantity = -1', 12, "must be at least 0"),
        ('[[cost.items]]\nline = "card"\nquantity = nan', 12, "must be a finite number"),
        ("year = 3", 10, "did you mean years"),
    ],
)
def test_nonsense_is_told_with_its_line(tmp_path: Path, text: str, line: int, message: str) -> None:
    with pytest.raises(InvalidExperimentError) as caught:
        load(written(tmp_path, text + "\n"))
    assert message in str(caught.value) and f"priced.toml:{line}" in str(caught.value)
