"""Time follows from the size of a file, in every format: for a line without end, and for a program started often."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from flatwater.errors import UserError
from flatwater.results.importers import FORMATS, Options, read_folder
from flatwater.results.importers.samplers import SAMPLERS

sys.path.insert(0, str(Path(__file__).parent))
from sampled import FORMS, SAMPLES
from test_import_spans import RUNS

#: What a line may be full of.
FILLINGS = ("9", "1,", " ", "a 9", "[ 1s ] ", "1/", "1:", '"1,', "| 1 ", "{", "-", "1.")
LONG, LIMIT_S = 200_000, 5.0
TEXTS: dict[str, tuple[str, str]] = {form: ("x.txt", make(30)) for form, make in (SAMPLES | FORMS).items()} | {
    form: (name, make(30)) for form, (_, name, make, _) in RUNS.items()
}


def test_every_format_is_tried() -> None:
    tried = {*TEXTS, *(run[0] for run in RUNS.values())}
    assert {one.NAME for one in (*FORMATS, *SAMPLERS)} <= tried


def seconds_of(place: Path, name: str, text: str) -> float:
    (place / name).write_text(text)
    begin_s = time.process_time()
    try:
        read_folder([place], FORMATS, Options())
    except UserError as error:
        assert "\n" not in str(error)
    return time.process_time() - begin_s


@pytest.mark.parametrize("form", TEXTS)
def test_a_line_without_end(tmp_path: Path, form: str) -> None:
    """One line by itself, and one of the file that goes on so behind its first half."""
    name, text = TEXTS[form]
    lines = text.split("\n")
    middle = len(lines) // 2
    for filling in FILLINGS:
        junk = filling * (LONG // len(filling))
        for begin in ("", lines[middle][: len(lines[middle]) // 2]):
            damaged = "\n".join([*lines[:middle], begin + junk, *lines[middle:]])
            assert seconds_of(tmp_path, name, damaged) < LIMIT_S, (filling, begin)


STARTED: dict[str, Callable[[int], str]] = SAMPLES | FORMS


@pytest.mark.parametrize("form", STARTED)
def test_a_program_that_is_started_for_each_reading(tmp_path: Path, form: str) -> None:
    few = seconds_of(tmp_path, "x.txt", STARTED[form](2) * 500)
    many = seconds_of(tmp_path, "x.txt", STARTED[form](2) * 4000)
    assert many < 20 * few + 1, "eight times as long a file"
