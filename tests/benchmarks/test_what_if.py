"""Predicted beside measured: what is asked, and the arithmetic of a row. That it runs at all: `--quick`."""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import pytest
from benchmarks.what_if import BEGIN, END, PAGE, Row, changes, experiment, read, run

from flatwater.errors import UserError
from flatwater.experiment import make_experiment
from flatwater.server import find_server

PREDICTED = {"ratio": 1.2, "low": 1.0, "high": 1.4, "pages_read": 2.0, "pages_written": 3.0}


def row(unchanged: list[float], changed: list[float]) -> Row:
    return Row("a change", PREDICTED, unchanged, changed, 2.5, 3.5)


def test_ratio_error_and_margin() -> None:
    one = row([100, 200], [130, 260])
    assert one.ratio == pytest.approx(1.3) and one.error == pytest.approx(1.2 / 1.3 - 1)
    assert one.within and one.margin == pytest.approx(0, abs=1e-9), "both rounds say the same"
    # Two rounds of 1.1 and 1.3: t is 12.706 with one degree of freedom (any table of Student's).
    two = row([100, 100], [110, 130])
    spread = abs(math.log(1.3) - math.log(1.1)) / math.sqrt(2)
    assert two.margin == pytest.approx(12.706 * spread / math.sqrt(2) * 1.2, rel=1e-3)
    assert row([100], [110]).margin is None
    assert not row([100], [150]).within


def test_the_base_run_and_its_changes_are_well(tmp_path: Path) -> None:
    options = read(["--dir", str(tmp_path)])
    base = experiment(options, tmp_path)
    settings = base["database"]["settings"]
    make_experiment(base)
    asked = changes(options)
    assert len(asked) == 3
    for _, setting, value in asked:
        assert settings[setting] != value, f"{setting} is what it was"


def test_options(tmp_path: Path) -> None:
    assert read([]).out == PAGE and read(["--quick"]).out is None
    with pytest.raises(UserError, match="is no directory"):
        read(["--dir", str(tmp_path / "nothing")])


def test_the_page_has_a_place_for_it() -> None:
    text = PAGE.read_text()
    assert text.count(BEGIN) == text.count(END) == 1 and text.index(BEGIN) < text.index(END)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_it_predicts_and_measures(tmp_path: Path) -> None:
    try:
        find_server(None)
    except UserError as error:
        pytest.skip(str(error))
    options: argparse.Namespace = read(["--quick", "--dir", str(tmp_path), "--warehouses", "1"])
    text = run(options)
    assert "nothing fitted" in text
    for name, _, _ in changes(options):
        assert f"| {name} | " in text
    assert not list(tmp_path.iterdir()), "what was made is taken away"
