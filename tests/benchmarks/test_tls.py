"""What TLS costs: the arithmetic of its tables. That it runs at all: `--quick`."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest
from benchmarks.tls import BEGIN, END, PAGE, Spent, read, results

from flatwater.errors import UserError

PLAIN, ENCRYPTED = Spent(10.0, 30.0, 1000.0), Spent(15.0, 45.0, 800.0)


def test_a_ratio_is_of_the_rounds_and_both_sides_are_summed() -> None:
    found = {work: {"DISABLED": [PLAIN] * 3, "REQUIRED": [ENCRYPTED] * 3} for work in ("point_select", "read_write")}
    found["login"] = {"DISABLED": [PLAIN] * 3, "REQUIRED": [Spent(100.0, 300.0)] * 3}
    text = results(found, argparse.Namespace(rounds=3, seconds=2))
    assert "| a query of point_select | both | 40.0 | 60.0 | 1.500 [1.500, 1.500] |" in text
    assert "| a login | client | 10.0 | 100.0 | 10.000 [10.000, 10.000] |" in text
    assert "| read_write | 1,000 | 800 | 0.800 [0.800, 0.800] |" in text
    assert all(len(line) <= 120 for line in text.splitlines())


def test_the_page_has_a_place_for_it() -> None:
    text = PAGE.read_text()
    assert text.count(BEGIN) == text.count(END) == 1 and text.index(BEGIN) < text.index(END)


def test_options(tmp_path: Path) -> None:
    assert read(["--dir", str(tmp_path)]).out == PAGE
    assert read(["--dir", str(tmp_path), "--quick"]).out is None
    with pytest.raises(UserError, match="no directory"):
        read(["--dir", str(tmp_path / "absent")])
