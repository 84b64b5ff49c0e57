from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from flatwater.analysis.autocorrelation import estimate_mean
from flatwater.analysis.compare import compare, ratio_interval

sys.path.insert(0, str(Path(__file__).parent))
from known_series import autoregressive, make_result

SEED = 1104


def noise(level: float, length: int = 300, seed: int = SEED) -> np.ndarray:
    return level * (1 + 0.02 * np.random.default_rng(seed).normal(size=length))


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.9])
def test_two_runs_of_one_process_show_no_difference(phi: float) -> None:
    print("seed", SEED)
    rows = autoregressive(phi, 600, 1000, np.random.default_rng(SEED))
    estimates = [estimate_mean(row) for row in rows]
    held = []
    for a, b in zip(estimates[::2], estimates[1::2], strict=True):
        assert a is not None
        assert b is not None
        _, low, high = ratio_interval(a, b)
        held.append(low <= 1 <= high)
    assert 0.90 <= np.mean(held) <= 0.99


def test_faster(tmp_path: Path) -> None:
    a = make_result(tmp_path / "ext4", [({}, 0, noise(1000))])
    b = make_result(tmp_path / "xfs", [({}, 0, noise(1230, seed=2))])
    comparison = compare([a, b])
    (row,) = comparison.rows
    assert row.difference is True
    assert row.ratio == pytest.approx(1.23, abs=0.01)
    assert row.low is not None
    assert row.high is not None
    assert row.low < 1.23 < row.high
    assert row.text == "xfs is 1.227x of ext4 (95 % CI 1.223-1.231)"
    assert (row.warnings, comparison.warnings) == ([], [])
    json.dumps(asdict(comparison))


def test_no_difference_shown(tmp_path: Path) -> None:
    a = make_result(tmp_path / "a", [({}, 0, noise(1000))])
    b = make_result(tmp_path / "b", [({}, 0, noise(1000, seed=2))])
    (row,) = compare([a, b]).rows
    assert row.difference is False
    assert row.text.startswith("no difference shown between a and b (95 % CI 0.99")


def test_cells_are_matched_by_what_is_swept_however_it_is_written(tmp_path: Path) -> None:
    size, threads = "workload.block_size", "workload.threads"
    ours = [({size: "16KiB", threads: 1}, 0, noise(100)), ({size: "4KiB", threads: 1}, 0, noise(400))]
    theirs = [({size: 4096, threads: 1.0}, 0, noise(800)), ({size: "16k", threads: 1}, 0, noise(100))]
    comparison = compare([make_result(tmp_path / "a", ours), make_result(tmp_path / "b", [*theirs, ({}, 0, noise(1))])])
    assert [round(row.ratio or 0) for row in comparison.rows] == [1, 2]
    assert [row.label for row in comparison.rows] == ["block_size 16 KiB, threads 1", "block_size 4 KiB, threads 1"]
    assert comparison.warnings == ["1 cell has no partner in a: compared are the cells of both"]


def test_repeats_widen_the_interval_to_what_repeats_show(tmp_path: Path) -> None:
    a = make_result(tmp_path / "a", [({}, index, noise(level)) for index, level in enumerate((900, 1000, 1100))])
    b = make_result(tmp_path / "b", [({}, index, noise(level)) for index, level in enumerate((950, 1060, 1170))])
    (row,) = compare([a, b]).rows
    assert row.baseline.repeats == 3
    assert row.difference is False, "each run is sure of itself, and the repeats say that this means little"
    assert row.high is not None
    assert row.low is not None
    assert row.high - row.low > 0.3
    alone = compare(
        [make_result(tmp_path / "c", [({}, 0, noise(1000))]), make_result(tmp_path / "d", [({}, 0, noise(1060))])]
    )
    assert alone.rows[0].difference is True


def test_three_results_against_the_first(tmp_path: Path) -> None:
    results = [
        make_result(tmp_path / name, [({}, 0, noise(level))]) for name, level in (("a", 100), ("b", 200), ("c", 50))
    ]
    assert [row.name for row in compare(results).rows] == ["b", "c"]
    again = compare([results[0], results[0]])
    assert (again.baseline, again.others) == ("a", ["a (2)"])


def test_what_makes_a_comparison_doubtful_is_told(tmp_path: Path) -> None:
    a = make_result(tmp_path / "a", [({}, 0, noise(1000))], machine={"kernel": "6.1", "memory": {"free_bytes": 1}})
    b = make_result(
        tmp_path / "b",
        [({}, 0, noise(1000) * np.linspace(1, 3, 300))],
        machine={"kernel": "6.8", "memory": {"free_bytes": 2}},
        layers={"storage": "modelled"},
        more={"machine.cpu_steal_pct": [9.0] * 300},
    )
    comparison = compare([a, b])
    assert [one.text for one in comparison.differences["b"]] == [
        "machine.kernel (6.1 / 6.8)",
        "layers.storage (real / modelled)",
    ]
    (row,) = comparison.rows
    told = " | ".join(row.warnings)
    assert "b never became steady" in told
    assert "b: CPU steal was 9.0 %" in told


def test_units_that_differ_are_not_compared(tmp_path: Path) -> None:
    a = make_result(tmp_path / "a", [({}, 0, noise(1000))])
    b = make_result(tmp_path / "b", [({}, 0, noise(1000))], unit="MiB/s", machine={})
    comparison = compare([a, b])
    assert comparison.rows[0].ratio is None
    assert comparison.rows[0].text.startswith("not comparable: they differ in unit (IOPS / MiB/s)")
    assert [(one.field, one.unknown_in) for one in comparison.differences["b"]] == [("unit", ""), ("machine", "other")]


def test_too_few_samples_and_nothing_done(tmp_path: Path) -> None:
    a = make_result(tmp_path / "a", [({}, 0, [100.0])])
    b = make_result(tmp_path / "b", [({}, 0, [120.0])])
    (row,) = compare([a, b]).rows
    assert row.text == "b is 1.2x of a (too few samples for a confidence interval)"
    dead = make_result(tmp_path / "dead", [({}, 0, np.zeros(60))])
    assert compare([dead, a]).rows[0].text == "not comparable: one of them did nothing"
    assert compare([a, dead]).rows[0].ratio == 0
