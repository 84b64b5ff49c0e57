from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import synthetic

from flatwater.report.contrast import Contrast, contrast
from flatwater.results import MetricSummary, Result, open_result

FIELD = "database.settings.innodb_log_file_size"


def made(
    path: Path, cells: list[dict[str, Any]], field: str = FIELD, values: tuple[Any, ...] = ("24M", "1G")
) -> Result:
    plans: list[tuple[dict[str, Any], int]] = [
        ({field: values[place % len(values)]}, place // len(values)) for place in range(len(cells))
    ]
    result = synthetic.create(path, plans)
    summaries = [
        synthetic.summary(place, plans[place][0], cell.pop("at"), 600, repeat=plans[place][1], **cell)
        for place, cell in enumerate(cells)
    ]
    synthetic.write_summaries(result, summaries)
    return open_result(path)


def told(result: Result) -> Contrast:
    found = contrast(result)
    assert found is not None
    return found


def metrics(age: float, top: float, limit: float, dirty: float) -> dict[str, MetricSummary]:
    return {
        "database.checkpoint_age_bytes": MetricSummary(mean=age * 2**20, max=top * 2**20),
        "database.checkpoint_age_max_bytes": MetricSummary(mean=limit * 2**20, max=limit * 2**20),
        "database.dirty_pct": MetricSummary(mean=dirty, max=dirty + 2),
    }


def test_two_settings_in_words(tmp_path: Path) -> None:
    found = told(
        made(
            tmp_path / "r",
            [
                {
                    "at": 20_000.0,
                    "unit": "NOTPM",
                    "metrics": metrics(18, 19, 20, 40),
                    "verdict": "dips",
                    "flatness": 0.7,
                },
                {"at": 24_000.0, "unit": "NOTPM", "metrics": metrics(200, 410, 820, 60)},
            ],
        )
    )
    # 1.2 % of either mean: 1.2 x sqrt(2) x 0.012 = 0.0204.
    assert found.sentences == [
        "Throughput with 1 GiB is 1.20x that with 24 MiB (95 % CI 1.18 to 1.22).",
        (
            "Checkpoint age was on average 18 MiB (90 % of its limit, at most 95 %) with 24 MiB "
            "and 200 MiB (24 % of its limit, at most 50 %) with 1 GiB."
        ),
        "Of the buffer pool, 40 % (at most 42 %) with 24 MiB and 60 % (at most 62 %) with 1 GiB was dirty on average.",
        "The lines differ: dips with 24 MiB; flat with 1 GiB; flatness 0.7 with 24 MiB and 0.951 with 1 GiB.",
    ]
    assert [row.ratio for row in found.rows] == ["", "1.20 (1.18 to 1.22)"]
    assert [row.age_share for row in found.rows] == ["90 % / 95 %", "24 % / 50 %"]


def test_no_difference_is_said_to_be_none(tmp_path: Path) -> None:
    found = told(made(tmp_path / "r", [{"at": 400.0}, {"at": 404.0}]))
    assert found.sentences == [
        "No difference in throughput is shown between 1 GiB and 24 MiB (95 % CI 0.99 to 1.03).",
        "Both lines are judged flat; flatness 0.951 with 24 MiB and 0.951 with 1 GiB.",
    ]
    assert not found.has("age")


def test_repeats_that_differ_widen_the_interval(tmp_path: Path) -> None:
    cells: list[dict[str, Any]] = [{"at": at} for at in (400.0, 500.0, 440.0, 520.0, 420.0, 480.0)]
    result = made(tmp_path / "r", cells)
    found = told(result)
    assert [row.cells for row in found.rows] == [[0, 2, 4], [1, 3, 5]]
    # Both have a standard deviation of 20, so Student's t of two degrees of freedom: 4.303 x 20 / sqrt(3) = 49.7.
    assert [row.throughput for row in found.rows] == ["420 ± 49.7 MiB/s", "500 ± 49.7 MiB/s"]
    assert found.sentences[0] == "Throughput with 1 GiB is 1.19x that with 24 MiB (95 % CI 1.01 to 1.37)."


def test_bare_numbers_keep_the_name_of_their_field(tmp_path: Path) -> None:
    result = made(tmp_path / "r", [{"at": 400.0}, {"at": 800.0}], "workload.connections", (8, 16))
    assert (
        told(result).sentences[0]
        == "Throughput with connections 16 is 2.00x that with connections 8 (95 % CI 1.97 to 2.03)."
    )


def test_many_settings_are_told_as_ranges(tmp_path: Path) -> None:
    cells = [{"at": 400.0 + place, "metrics": metrics(18 - place, 19, 20, 40 + place)} for place in range(4)]
    values = ("24M", "48M", "96M", "192M")
    found = told(made(tmp_path / "r", cells, values=values))
    assert found.sentences[3:] == [
        "Checkpoint age was on average 75 % (192 MiB) to 90 % (24 MiB) of its limit, and at most 95 %.",
        "Of the buffer pool, 40 % (24 MiB) to 43 % (192 MiB) was dirty on average.",
        "All 4 lines are judged flat; flatness 0.951.",
    ]


@pytest.mark.parametrize(
    "cells",
    [
        [{"at": 400.0}],
        [{"at": 400.0}, {"at": 400.0, "mean": None}],
        [{"at": 400.0}, {"at": 400.0, "unit": "IOPS"}],
    ],
)
def test_nothing_to_compare(tmp_path: Path, cells: list[dict[str, Any]]) -> None:
    assert contrast(made(tmp_path / "r", cells)) is None


def test_a_large_sweep_has_its_charts(sweep: Result) -> None:
    assert contrast(sweep) is None


@pytest.mark.parametrize("field", ["mean_ci95", "flatness"])
def test_what_is_not_known_is_not_told(tmp_path: Path, field: str) -> None:
    found = told(made(tmp_path / "r", [{"at": 400.0, field: None}, {"at": 0.0, field: None}]))
    assert found.sentences
    assert told(made(tmp_path / "s", [{"at": 0.0}, {"at": 400.0}])).sentences == [
        "Both lines are judged flat; flatness 0.951 with 24 MiB and 0.951 with 1 GiB."
    ]


def test_an_end_close_to_one_is_told_from_it(tmp_path: Path) -> None:
    found = told(made(tmp_path / "r", [{"at": 1000.0, "mean_ci95": 6.0}, {"at": 1006.2, "mean_ci95": 6.0}]))
    assert found.rows[1].ratio == "1.006 (0.998 to 1.015)"
