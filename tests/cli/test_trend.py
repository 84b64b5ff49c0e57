from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from flatwater.cli import make_app
from flatwater.errors import RegressionFound, UserError

sys.path.insert(0, str(Path(__file__).parents[1] / "analysis" / "trend"))
from repeated import make_run

HOSTILE = "<img src=x> \x1b[31m \u202e"


@pytest.fixture(scope="module")
def nightly(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """30 runs, slower by a tenth from run 18 on, when the kernel changed."""
    folder = tmp_path_factory.mktemp("results") / "nightly"
    rng = np.random.default_rng(2)
    for day in range(30):
        slow = day >= 18
        make_run(
            folder,
            day,
            40_000 * (0.9 if slow else 1) * (1 + 0.02 * rng.standard_normal()),
            p99_us=900 * (1 + 0.03 * rng.standard_normal()),
            machine={"kernel": "6.5"} if slow else {},
        )
    yield folder


def call(*arguments: object, columns: int = 80) -> Result:
    return CliRunner(env={"COLUMNS": str(columns)}).invoke(make_app(), ["trend", *map(str, arguments)])


def test_a_table_and_what_changed(nightly: Path) -> None:
    called = call(nightly)
    assert called.exit_code == 0, called.exception
    lines = called.output.splitlines()
    assert lines[0] == (
        "nightly on Example Xeon 2.4 GHz, 16 cores, 64.0 GiB, EXAMPLE 960, xfs: 30 runs, 2026-01-01 to 2026-01-30"
    )
    (row,) = [line for line in lines if line.startswith(" 2026-01-19")]
    assert "mean, IOPS" in row and "worse" in row and row.rstrip().endswith("< 0.0001") and len(row) <= 80
    assert any(line.endswith("(mean, IOPS): kernel 6.1.0-18-amd64 -> 6.5") for line in lines)
    assert any(line.startswith("no change of latency_us.p99: the noise of a run is") for line in lines)


def test_json_is_all_there_is(nightly: Path) -> None:
    told = json.loads(call(nightly, "--json").stdout)
    (trend,) = told["trends"]
    mean, p99 = trend["lines"]
    assert (mean["metric"], p99["metric"], p99["shifts"]) == ("mean", "latency_us.p99", [])
    (shift,) = mean["shifts"]
    assert shift["at"] == "2026-01-19T03:00:00+00:00" and shift["worse"] and shift["newest_runs"] == 12
    assert shift["low_pct"] < shift["change_pct"] < shift["high_pct"] < 0
    assert shift["changed"] == [{"what": "kernel", "before": "6.1.0-18-amd64", "after": "6.5", "runs_later": 0}]


def test_the_exit_code_for_ci(nightly: Path) -> None:
    failed = call(nightly, "--fail-on-regression")
    assert isinstance(failed.exception, RegressionFound) and failed.exception.exit_code == 1
    assert "1 figure got worse within the newest 20 runs: nightly, mean, IOPS by -" in str(failed.exception)
    assert "2026-01-19" in failed.output
    # With --json there is JSON on standard output, whatever the exit code.
    assert json.loads(call(nightly, "--fail-on-regression", "--json").stdout)["trends"]
    for passing in (("--newest", 11), ("--metric", "p99"), ("--since", "2026-01-19"), ("--last", 12)):
        assert call(nightly, "--fail-on-regression", *passing).exit_code == 0, passing


def test_only_some_runs_and_figures(nightly: Path) -> None:
    assert ": 11 runs, 2026-01-20 to" in call(nightly, "--since", "2026-01-20").output
    assert ": 5 runs, 2026-01-26 to" in call(nightly, "--last", 5).output
    told = json.loads(call(nightly, "--json", "--metric", "p99", "--metric", "throughput").stdout)
    assert [line["metric"] for line in told["trends"][0]["lines"]] == ["latency_us.p99", "mean"]
    assert "2026-01-19" not in call(nightly, "--p-max", 1e-30).output


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--metric", "p999"], "--metric: no run has a figure 'latency_us.p999' (hint: did you mean latency_us.p99?)"),
        (["--since", "2026-02-30"], "--since: must be a day"),
        (["--since", "2026-02-01"], "--since: no run began on 2026-02-01 or later"),
        (["--p-max", "2"], "--p-max: must be above 0 and below 1, not 2"),
        (["--p-max", "nan"], "--p-max: must be above 0 and below 1, not nan"),
    ],
)
def test_bad_arguments(nightly: Path, arguments: list[str], error: str) -> None:
    exception = call(nightly, *arguments).exception
    assert isinstance(exception, UserError) and error in str(exception)


def test_no_run_at_all(tmp_path: Path) -> None:
    assert "no such folder" in str(call(tmp_path / "nosuch").exception)
    assert "there is no complete run of an experiment in it" in str(call(tmp_path).exception)
    make_run(tmp_path, 1, 1.0, source="import")
    assert "run-001: it is no run of an experiment of flatwater" in str(call(tmp_path).exception)


def test_what_is_no_sound_result_is_left_out(nightly: Path, tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/flatwater.json").write_text("{")
    make_run(tmp_path / "newer", 1, 1.0, schema_version=99)
    make_run(tmp_path / "imported", 1, 1.0, source="import")
    called = call(nightly, tmp_path)
    assert called.exit_code == 0
    left = [line for line in called.output.splitlines() if line.startswith("left out: ")]
    assert len(left) == 3 and "newer than this flatwater's" in called.output and ": 30 runs" in called.output
    assert len(json.loads(call(nightly, tmp_path, "--json").stdout)["left_out"]) == 3


def test_a_few_runs_are_too_few(tmp_path: Path) -> None:
    for day in range(3):
        make_run(tmp_path, day, 100.0 * (1 + day))
    assert "too few runs: a change is seen with 2 runs before it" in call(tmp_path).output
    assert call(tmp_path, "--fail-on-regression").exit_code == 0


def test_machines_are_kept_apart_with_a_reason(tmp_path: Path) -> None:
    for day in range(8):
        make_run(tmp_path, day, 100.0 + day % 2 - 40 * (day > 3), machine={"cores": 16 + 16 * (day > 3)})
    output = call(tmp_path).output
    assert "superseded by later runs" in output and "they differ in cores (16 / 32)" in output
    assert "->" not in output


def test_a_hostile_name_stays_text(tmp_path: Path) -> None:
    for day in range(12):
        make_run(
            tmp_path, day, 100.0 + day % 3 - 30 * (day > 5), name=HOSTILE, sets=[{"workload.threads": HOSTILE}],
            machine={"kernel": f"{HOSTILE}{day > 5}"},
        )  # fmt: skip
    output = call(tmp_path, columns=200).output
    assert "\x1b" not in output and "\u202e" not in output and "\\u001b[31m" in output
    assert "\x1b" not in call(tmp_path, "--json").output
