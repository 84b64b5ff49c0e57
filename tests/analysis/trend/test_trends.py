from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flatwater.analysis.trend import Run, Trends, find_trends, newest_regressions, read_run
from flatwater.errors import UserError
from flatwater.results import open_result
from flatwater.results.schema import Manifest

sys.path.insert(0, str(Path(__file__).parent))
from repeated import make_run

METRICS = ["mean", "latency_us.p99", "database.dirty_pct"]


def read(*paths: Path) -> list[Run]:
    return [read_run(open_result(path), METRICS) for path in paths]


def stepped(folder: Path, levels: Sequence[float], each: int = 10, first: int = 0, **more: Any) -> list[Run]:
    """Runs of a mean of each level for `each` runs, with noise of 1 %."""
    noise = 1 + 0.01 * np.random.default_rng(1).standard_normal(each * len(levels))
    means = np.repeat(levels, each) * noise
    return read(*(make_run(folder, first + day, float(mean), **more) for day, mean in enumerate(means)))


def shifts_of(trends: Trends, metric: str = "mean") -> list[tuple[str, int, bool | None]]:
    (trend,) = trends.trends
    return [
        (Path(shift.run).name, shift.newest_runs, shift.worse)
        for line in trend.lines
        if line.metric == metric
        for shift in line.shifts
    ]


def test_changes_for_the_worse_and_the_better(tmp_path: Path) -> None:
    runs = stepped(tmp_path, [1000, 900, 1100])
    assert shifts_of(find_trends(runs[::-1], ["mean"])) == [("run-010", 20, True), ("run-020", 10, False)]
    (line,) = find_trends(runs, ["mean"]).trends[0].lines
    first = line.shifts[0]
    assert first.run_before.endswith("run-009") and first.changed == []
    assert first.change_pct == pytest.approx(-10, abs=1.5)
    assert first.low_pct is not None and first.high_pct is not None and first.low_pct < -10 < first.high_pct
    assert line.unit == "IOPS" and line.noise_pct == pytest.approx(1, rel=0.4)


def test_less_latency_is_better_and_a_state_is_neither(tmp_path: Path) -> None:
    paths = [
        make_run(
            tmp_path,
            day,
            100.0,
            p99_us=500.0 + day % 3 - 90 * (day >= 8),
            metrics={"database.dirty_pct": 10 + day % 2 + 5 * (day >= 8)},
        )
        for day in range(16)
    ]
    trends = find_trends(read(*paths), METRICS)
    assert shifts_of(trends, "latency_us.p99") == [("run-008", 8, False)]
    assert shifts_of(trends, "database.dirty_pct") == [("run-008", 8, None)]
    assert newest_regressions(trends, 20) == []


def test_never_across_machines(tmp_path: Path) -> None:
    runs = stepped(tmp_path, [1000]) + stepped(tmp_path, [800], first=10, machine={"cores": 32})
    trends = find_trends(runs, ["mean"])
    assert [(len(trend.runs), trend.superseded, trend.lines[0].shifts) for trend in trends.trends] == [
        (10, True, []),
        (10, False, []),
    ]
    (apart,) = trends.apart
    assert apart.endswith("run-009: they differ in cores (16 / 32)") and "run-010 is not comparable" in apart


def test_two_machines_in_turns_are_two_series(tmp_path: Path) -> None:
    paths = [
        make_run(tmp_path, day, 1000.0 + day % 5 - 400 * (day % 2), machine={"cores": 16 + day % 2})
        for day in range(24)
    ]
    trends = find_trends(read(*paths), ["mean"])
    assert [(len(trend.runs), trend.superseded) for trend in trends.trends] == [(12, False), (12, False)]
    assert all(not line.shifts for trend in trends.trends for line in trend.lines)
    assert len(trends.apart) == 1


def test_the_reason_names_the_nearest_runs_and_not_all_fields(tmp_path: Path) -> None:
    other = {"cpu": "x", "cores": 1, "memory_bytes": 2**30, "storage": {"model": "y", "device_bytes": 5}}
    paths = [
        make_run(tmp_path, 0, 1.0),
        make_run(tmp_path, 1, 1.0, machine=other),
        make_run(tmp_path, 2, 1.0, machine={**other, "cores": 2}),
    ]
    first, second = find_trends(read(*paths), ["mean"]).apart
    assert first.endswith("storage (EXAMPLE 960 / y); and 1 more")
    assert "run-002 is not comparable with" in second and second.endswith("run-001: they differ in cores (1 / 2)")


def test_experiments_of_other_names_need_no_reason(tmp_path: Path) -> None:
    trends = find_trends(read(make_run(tmp_path, 0, 1.0), make_run(tmp_path, 1, 1.0, name="weekly")), ["mean"])
    assert [trend.name for trend in trends.trends] == ["nightly", "weekly"] and trends.apart == []


def test_each_setting_of_a_sweep_is_a_line(tmp_path: Path) -> None:
    sets = [{"workload.threads": 1}, {"workload.threads": 8}]
    means = [[100.0 + day % 3, 800.0 + day % 3 - 90 * (day >= 7)] for day in range(14)]
    paths = [make_run(tmp_path, day, mean, sets=sets) for day, mean in enumerate(means)]
    (trend,) = find_trends(read(*paths), ["mean"]).trends
    assert [(line.cell, len(line.shifts)) for line in trend.lines] == [("threads 1", 0), ("threads 8", 1)]


def test_the_newest_runs_only(tmp_path: Path) -> None:
    runs = stepped(tmp_path, [1000, 900, 1100])
    trends = find_trends(runs, ["mean"], last=15)
    assert shifts_of(trends) == [("run-020", 10, False)] and len(trends.trends[0].runs) == 15


def test_a_regression_counts_while_it_is_among_the_newest_and_the_last_change(tmp_path: Path) -> None:
    worse = find_trends(stepped(tmp_path / "worse", [1000, 900]), ["mean"])
    assert [len(newest_regressions(worse, newest)) for newest in (9, 10, 11)] == [0, 1, 1]
    mended = find_trends(stepped(tmp_path / "mended", [1000, 900, 1000]), ["mean"])
    assert newest_regressions(mended, 30) == []
    replaced = stepped(tmp_path / "replaced", [1000, 900])
    replaced += stepped(tmp_path / "later", [500], each=2, first=20, machine={"cores": 2})
    assert newest_regressions(find_trends(replaced, ["mean"], last=5), 30) == []


def test_what_changed_is_beside_the_change(tmp_path: Path) -> None:
    runs = stepped(tmp_path, [1000]) + stepped(tmp_path, [900], first=10, machine={"kernel": "6.5"})
    (line,) = find_trends(runs, ["mean"]).trends[0].lines
    assert [one.text for one in line.shifts[0].changed] == ["kernel 6.1.0-18-amd64 -> 6.5"]


def test_repeats_of_a_run_are_one_value(tmp_path: Path) -> None:
    path = make_run(tmp_path, 0, [100.0, 200.0], sets=[{}, {}])
    assert read(path)[0].cells["{}"].figures == {"mean": 150.0}


def test_results_that_are_no_run(tmp_path: Path) -> None:
    unreadable = make_run(tmp_path, 0, 1.0)
    manifest = Manifest.model_validate_json((unreadable / "flatwater.json").read_text())
    changed = manifest.model_copy(update={"created_at": "yesterday"})
    (unreadable / "flatwater.json").write_text(changed.model_dump_json())
    for path, why in (
        (make_run(tmp_path, 1, 1.0, source="import"), "of the kind 'import'"),
        (unreadable, "when it began cannot be read"),
    ):
        with pytest.raises(UserError, match=why):
            read(path)
    failed = make_run(tmp_path, 2, 1.0)
    text = (failed / "summary.json").read_text()
    (failed / "summary.json").write_text(text.replace('"status": "complete"', '"status": "failed"'))
    with pytest.raises(UserError, match="no cell of it is complete"):
        read(failed)


def test_what_is_no_number_is_no_figure(tmp_path: Path) -> None:
    path = make_run(tmp_path, 0, 1.0, metrics={"database.dirty_pct": float("inf")})
    (path / "summary.json").write_text((path / "summary.json").read_text().replace('"p99": null', '"p99": NaN'))
    assert read(path)[0].cells["{}"].figures == {"mean": 1.0}
