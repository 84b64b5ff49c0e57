from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from flatwater.cli import compare
from flatwater.errors import UserError

sys.path.insert(0, str(Path(__file__).parents[1] / "analysis"))
from known_series import make_result

app = typer.Typer()
app.command(compare.NAME, epilog=compare.EXAMPLES)(compare.verb)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("results")
    rng = np.random.default_rng(1)
    found = []
    for name, factor in (("before-the-change", 1.0), ("after-the-change", 1.23)):
        cells = [
            ({"workload.threads": threads}, 0, 40_000 * factor * (1 + 0.02 * rng.normal(size=120)))
            for threads in (1, 8)
        ]
        found.append(str(make_result(folder / name, cells).path))
    return found


def test_a_table_that_reads_without_colour_at_80_columns(results: list[str]) -> None:
    output = CliRunner(env={"COLUMNS": "80"}).invoke(app, results)
    assert output.exit_code == 0, output.exception
    assert "\x1b" not in output.output
    lines = output.output.splitlines()
    assert max(len(line) for line in lines if "│" in line or "IOPS" in line) <= 80
    assert any("threads 8: after-the-change is 1.2" in line and "(95 % CI 1.2" in line for line in lines)


def test_json_is_all_there_is(results: list[str]) -> None:
    output = CliRunner().invoke(app, [*results, "--json"])
    found = json.loads(output.stdout)
    assert found["baseline"] == "before-the-change"
    assert [row["set"] for row in found["rows"]] == [{"workload.threads": 1}, {"workload.threads": 8}]
    assert found["rows"][0]["low"] < found["rows"][0]["ratio"] < found["rows"][0]["high"]


def test_one_result_is_no_comparison(results: list[str]) -> None:
    error = CliRunner().invoke(app, results[:1]).exception
    assert isinstance(error, UserError)
    assert "a comparison takes two results" in str(error)


def test_nothing_in_common(results: list[str], tmp_path: Path) -> None:
    other = make_result(tmp_path / "other", [({"storage.fill": 0.5}, 0, np.full(20, 5.0))])
    error = CliRunner().invoke(app, [results[0], str(other.path)]).exception
    assert isinstance(error, UserError)
    assert "no cell of one is in the other" in str(error)
    assert "before-the-change sweeps workload.threads, other sweeps storage.fill" in str(error)
    unswept = make_result(tmp_path / "unswept", [({}, 0, np.full(20, 5.0))])
    error = CliRunner().invoke(app, [results[0], str(unswept.path)]).exception
    assert "before-the-change sweeps workload.threads, unswept sweeps nothing" in str(error)


def test_not_a_result(results: list[str], tmp_path: Path) -> None:
    assert isinstance(CliRunner().invoke(app, [results[0], str(tmp_path)]).exception, UserError)


def test_what_differs_comes_first_and_forbids_a_ratio(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    workloads = {
        "reads": {"mode": "rndrd", "block_size": "16KiB", "engine": "io_uring", "queue_depth": 8},
        "writes": {"mode": "rndwr", "block_size": "4KiB", "engine": "io_uring"},
    }
    paths = [
        str(make_result(tmp_path / name, [({}, 0, 1000 + rng.normal(size=60))],
                        experiment={"workload": {"kind": "fileio", **workload}}).path)
        for name, workload in workloads.items()
    ]  # fmt: skip
    output = CliRunner(env={"COLUMNS": "80"}).invoke(app, paths)
    assert output.exit_code == 0, output.exception
    lines = output.output.splitlines()
    assert lines[:4] == [
        "reads / writes differ, besides what is swept:",
        "  workload.mode: rndrd / rndwr (workload)",
        "  workload.block_size: 16 KiB / 4 KiB (workload)",
        "  workload.queue_depth: 8 / 1 (workload)",
    ]
    assert max(len(line) for line in lines if "IOPS" in line) <= 80
    assert "95 % CI" not in output.output
    assert any(line.startswith("not comparable: they differ in workload.mode") for line in lines)
    (row,) = json.loads(CliRunner().invoke(app, [*paths, "--json"]).stdout)["rows"]
    assert (row["comparable"], row["ratio"], row["low"], row["difference"]) == ("no", None, None, None)
    anyway = CliRunner().invoke(app, [*paths, "--anyway"]).output
    assert "although they answer different questions" in anyway


def test_a_document(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    paths = [
        str(make_result(tmp_path / name, [({}, 0, level + rng.normal(size=60))]).path)
        for name, level in (("before", 1000), ("after", 1200))
    ]
    for name in ("page.html", "page.md"):
        ran = CliRunner().invoke(app, [*paths, "--out", str(tmp_path / name)])
        assert ran.exit_code == 0, ran.exception
        text = (tmp_path / name).read_text()
        assert "after against before" in text
        assert "95 % CI" in text
