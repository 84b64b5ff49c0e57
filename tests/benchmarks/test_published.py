"""The page of published figures: made by a command, from what was run."""

from __future__ import annotations

from pathlib import Path

import pytest
import tomli_w
from benchmarks.published import NAMES, PAGE, main

from flatwater.experiment import load

EXPERIMENT = {
    "title": "Two rates",
    "workload": {"mode": "rndrd", "duration_s": 5},
    "storage": {"kind": "memory", "device": "violin-memory-appliance", "size": "64MiB"},
    "sweep": {"workload.rate_per_s": [500, 1000]},
    "published": [
        {"set": {"workload.rate_per_s": 1000}, "value": 100, "unit": "IOPS", "source": "made up", "at_least": True},
        {
            "set": {"workload.rate_per_s": 1000},
            "relative_to": {"workload.rate_per_s": 500},
            "value": 4,
            "unit": "x",
            "source": "made up",
        },
    ],
}


def test_each_cell_has_a_row_and_each_more_figure_another(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file, out = tmp_path / "rates.toml", tmp_path / "page.md"
    file.write_text(tomli_w.dumps(EXPERIMENT))
    assert main([str(file), "--out", str(out)]) == 0
    rows = [line.split(" | ") for line in out.read_text().splitlines() if line.startswith("| ")]
    assert len(rows) == 5
    assert [row[3] for row in rows[2:]] == ["", "at least 100 IOPS", "4 x of rate per s 500"]
    ratio = float(rows[4][4])
    assert 1.8 < ratio < 2.2
    assert rows[3][5].startswith("0") or "0.0 %" in rows[3][5]


def test_what_cannot_run_leaves_the_page_alone(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "page.md"
    assert main([str(tmp_path / "none.toml"), "--out", str(out)]) == 1
    assert not out.exists()


def test_the_page_is_of_experiments_in_virtual_time() -> None:
    assert all(load(name).in_virtual_time for name in NAMES)
    assert PAGE.parent.is_dir()
