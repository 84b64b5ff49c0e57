"""Limits of a modelled run: in its cells' summaries, its folder, the page and the exit code."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flatwater.experiment import make_experiment, to_toml
from flatwater.report.page import render
from flatwater.results import CellSummary, Series, open_result
from flatwater.results.health import CellHealth, DriveHealth, LifeSpan
from flatwater.runner.progress import start_reporter
from flatwater.runner.sweep import run_experiment
from flatwater.runner.thresholds import _life, checkpoint_age_pct

sys.path.insert(0, str(Path(__file__).parents[1] / "cli"))
from calls import Caller

TABLES: dict[str, Any] = {
    "name": "limits",
    "workload": {"kind": "fileio", "mode": "rndwr", "threads": 8, "duration_s": 15, "warmup_s": 0},
    "storage": {"kind": "ssd", "device": "intel-910-2x200", "capacity_scale": 0.05},
}
DATABASE: dict[str, Any] = {
    "name": "limits",
    "workload": {"kind": "tpcc", "warehouses": 1, "connections": 4, "duration_s": 15, "warmup_s": 1},
    "database": {"kind": "innodb-model", "settings": {"innodb_buffer_pool_size": "64M"}},
    "storage": {"kind": "ssd", "device": "intel-910-2x200", "capacity_scale": 0.05},
}


def ran(out: Path, tables: dict[str, Any], limits: dict[str, Any]) -> CellSummary:
    reporter = start_reporter()
    experiment = make_experiment(tables | {"thresholds": limits})
    run_experiment(experiment, out, reporter, lambda *_: None)
    reporter.close()
    found = open_result(out).cells[0].summary
    assert found is not None
    return found


def test_limits_are_judged_and_kept_with_the_cell(tmp_path: Path) -> None:
    limits = {"mean_min": 1, "flatness_min": 0.1, "life_min_years": 0.01, "cost_max": 1e-9, "p99_max_s": 60}
    found = {one.name: one for one in ran(tmp_path / "run", TABLES, limits).thresholds}
    assert {name: one.passed for name, one in found.items()} == {
        "mean_min": True,
        "flatness_min": True,
        "life_min_years": True,
        "cost_max": False,
        "p99_max_s": True,
    }
    assert all(one.judged and one.value for one in found.values())
    page = render(open_result(tmp_path / "run"))
    assert "4 of 5 passed" in page and "cost_max" in page


def test_the_checkpoint_age_is_held_against_the_servers_own_limit(tmp_path: Path) -> None:
    (one,) = ran(tmp_path / "run", DATABASE, {"checkpoint_age_max_pct": 200}).thresholds
    cell = open_result(tmp_path / "run").cells[0]
    age, limit = (
        cell.measured("database", name).value for name in ("checkpoint_age_bytes", "checkpoint_age_max_bytes")
    )
    assert one.passed and one.value == pytest.approx(100 * float(np.max(age / limit[-1])), rel=1e-6)


def test_a_limit_that_changes_while_the_server_runs() -> None:
    series = {
        "checkpoint_age_bytes": Series(np.array([1.0, 2.0, 3.0]), np.array([50.0, 90.0, 90.0])),
        "checkpoint_age_max_bytes": Series(np.array([1.0, 3.0]), np.array([100.0, 200.0])),
    }
    assert checkpoint_age_pct(lambda _, metric: series[metric]).value == 90.0
    del series["checkpoint_age_max_bytes"]
    nothing = Series(np.array([]), np.array([]))
    assert "is not known" in checkpoint_age_pct(lambda _, metric: series.get(metric, nothing)).why
    assert "no checkpoint age" in checkpoint_age_pct(lambda *_: nothing).why


def test_a_baseline_of_the_same_question_and_of_another(tmp_path: Path) -> None:
    ran(tmp_path / "main", TABLES, {"mean_min": 1})
    limits = {"baseline": str(tmp_path / "main"), "ratio_min": 0.9}
    (same,) = ran(tmp_path / "same", TABLES, limits).thresholds
    assert same.passed and same.value == pytest.approx(1.0) and "95 % CI" in same.text
    other = TABLES | {"workload": TABLES["workload"] | {"threads": 4}}
    (one,) = ran(tmp_path / "other", other, limits).thresholds
    assert not one.passed and not one.judged and "they differ in workload.threads" in one.text
    (gone,) = ran(tmp_path / "gone", TABLES, limits | {"baseline": str(tmp_path / "nothing")}).thresholds
    assert not gone.judged and "no such folder" in gone.text
    series = tmp_path / "same" / "series.parquet"
    series.write_bytes(b"broken")
    (damaged,) = ran(tmp_path / "beside", TABLES, limits | {"baseline": str(series.parent)}).thresholds
    assert not damaged.judged and "cannot read the series" in damaged.text, "the run itself is not lost"
    slower = TABLES | {"storage": TABLES["storage"] | {"device": "intel-520"}}
    (worse,) = ran(tmp_path / "worse", slower, limits | {"ratio_min": 5.0}).thresholds
    assert worse.judged and not worse.passed and "below 5" in worse.text


def test_a_price_that_there_is_not_fails(tmp_path: Path) -> None:
    tables = TABLES | {"storage": TABLES["storage"] | {"device": "intel-520"}}
    (one,) = ran(tmp_path / "run", tables, {"cost_max": 1.0}).thresholds
    assert not one.passed and not one.judged and "no price line has intel-520" in one.text


@pytest.mark.parametrize(("least", "code"), [(1, 0), (10**9, 1)])
def test_the_exit_code_and_the_output(tmp_path: Path, least: int, code: int) -> None:
    file = tmp_path / "limits.toml"
    file.write_text(to_toml(make_experiment(TABLES | {"thresholds": {"mean_min": least}})))
    with Caller() as caller:
        told = caller.call(["run", str(file), "--out", str(tmp_path / "out")], tmp_path)
        assert told.code == code
        word = "FAIL" if code else "pass"
        assert f"threshold {word}: mean_min:" in told.stdout
        assert f"thresholds: {1 - code} of 1 passed" in told.stdout
        assert ("error: 1 of 1 thresholds failed: mean_min:" in told.stderr) is bool(code)
        told = caller.call(["run", str(file), "--out", str(tmp_path / "json"), "--json"], tmp_path)
        assert told.code == code
        (cell,) = (json.loads(line) for line in told.stdout.splitlines())
        assert [one["passed"] for one in cell["thresholds"]] == [not code]
        # Going on with what is complete gives the same answer.
        assert caller.call(["resume", str(tmp_path / "out")], tmp_path).code == code


def test_of_many_experiments_each_has_its_own(tmp_path: Path) -> None:
    for name, least in (("good", 1), ("bad", 10**9)):
        tables = TABLES | {"name": name, "thresholds": {"mean_min": least}}
        (tmp_path / f"{name}.toml").write_text(to_toml(make_experiment(tables)))
    with Caller() as caller:
        told = caller.call(["run", "good.toml", "bad.toml", "--all", "--out", "out"], tmp_path)
    assert told.code == 1 and "1 of 2 thresholds failed: bad: mean_min" in told.stderr
    assert "threshold FAIL: bad: mean_min" in told.stdout and "threshold pass: good: mean_min" in told.stdout


def test_a_baseline_that_is_not_there_is_warned_of_before_the_run(tmp_path: Path) -> None:
    tables = TABLES | {"thresholds": {"baseline": "nothing", "ratio_min": 0.9}}
    (tmp_path / "limits.toml").write_text(to_toml(make_experiment(tables)))
    with Caller() as caller:
        for more in ([], ["--all"]):
            told = caller.call(["run", "limits.toml", "--out", f"out{len(more)}", *more], tmp_path)
            (warning,) = [line for line in told.stderr.splitlines() if "thresholds.baseline" in line]
            assert warning.startswith("warning: ") and "nothing: no such folder" in warning
            assert told.code == 1 and told.stderr.index(warning) < told.stderr.index("error: 1 of 1 thresholds failed")


def test_a_modelled_drive_without_a_price_has_the_models_own_life(tmp_path: Path) -> None:
    """The run told how long it lasts, so that the limit cannot say that nothing does."""
    tables = TABLES | {"storage": TABLES["storage"] | {"device": "intel-520"}}
    summary = ran(tmp_path / "run", tables, {"life_min_years": 0.001})
    (one,) = summary.thresholds
    assert one.judged and summary.health is not None and one.value == summary.health.years


def test_a_real_drives_own_account_of_its_life_comes_first() -> None:
    summary = CellSummary(cell=0, seed=1, status="complete", unit="IOPS")
    life = LifeSpan(years=4.5)
    summary.health = CellHealth(drives=[DriveHealth(device="/dev/nvme0n1", workload_life=life)])
    nothing: Any = None  # no price, no series and no experiment is asked for
    assert _life(nothing, nothing, nothing, summary).value == 4.5
