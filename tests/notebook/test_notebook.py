"""What Python is told of a result is what `--json` and the report say of it."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

import flatwater as fw
from flatwater.catalogue import TABLES
from flatwater.cli import make_app
from flatwater.report.figure import DARK
from flatwater.report.images import find_browser
from flatwater.report.page import render
from flatwater.report.units import number
from flatwater.results import open_result

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))
sys.path.insert(0, str(Path(__file__).parents[1] / "cli"))
sys.path.insert(0, str(Path(__file__).parents[1] / "what_if"))
sys.path.insert(0, str(Path(__file__).parents[1] / "serve"))
import recorded
import synthetic
from each_result import HOSTILE, KINDS
from servelab import started_run, write_latencies

SWEEP = """\
title = "a sweep"
repeat = 2
[workload]
kind = "fileio"
mode = "rndrw"
threads = 4
warmup_s = 1
duration_s = 12
[storage]
kind = "ssd"
device = "intel-910-2x200"
capacity_scale = 0.02
[sweep]
"workload.threads" = [1, 8]
"""


def call(*arguments: str | Path) -> str:
    return CliRunner().invoke(make_app(), [*map(str, arguments)], catch_exceptions=False).stdout


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    """A sweep, and the lines that its run printed with --json."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "sweep.toml").write_text(SWEEP)
    lines = call("run", folder / "sweep.toml", "--out", folder / "result", "--json").splitlines()
    return folder / "result", sorted(map(json.loads, lines), key=lambda cell: cell["cell"])


@pytest.fixture(scope="module")
def tpcc(tmp_path_factory: pytest.TempPathFactory) -> Path:
    KINDS["tpcc, modelled"](made := tmp_path_factory.mktemp("tpcc") / "run")
    return made


def test_the_cells_are_those_of_json(printed: tuple[Path, list[dict[str, Any]]]) -> None:
    folder, lines = printed
    assert len(lines) == 4 and fw.load(folder).as_json() == lines


def test_the_summary_is_that_of_json_and_the_report(printed: tuple[Path, list[dict[str, Any]]]) -> None:
    folder, lines = printed
    rows = fw.load(folder).summary().to_pylist()
    page = render(open_result(folder))
    for row, line in zip(rows, lines, strict=True):
        for name in (
            "cell",
            "verdict",
            "mean",
            "mean_ci95",
            "stddev",
            "flatness",
            "unit",
            "operations",
            "steady_since_s",
        ):
            assert row[name] == line[name], name
        assert row["latency_p99_us"] == line["latency_us"]["p99"]
        assert json.loads(row["set"]) == line["set"]
        assert number(row["mean"]) in page


def test_the_metrics_are_those_of_json(printed: tuple[Path, list[dict[str, Any]]]) -> None:
    folder, lines = printed
    found: dict[int, dict[str, Any]] = {}
    for row in fw.load(folder).metrics().to_pylist():
        found.setdefault(row["cell"], {})[f"{row['layer']}.{row['metric']}"] = {"mean": row["mean"], "max": row["max"]}
    assert found == {line["cell"]: line["metrics"] for line in lines}


def test_the_series_are_those_that_the_figures_are_computed_from(printed: tuple[Path, list[dict[str, Any]]]) -> None:
    folder, lines = printed
    run = fw.load(folder)
    for line in lines:
        measured = run.series("workload.throughput", cell=line["cell"], measured=True)
        assert measured.num_rows == line["samples"]
        assert np.isclose(measured["value"].to_numpy().mean(), line["mean"])
        whole = run.series("workload.throughput", cell=line["cell"])
        assert whole.num_rows > measured.num_rows
    everything = run.series()
    assert set(everything["cell"].to_pylist()) == {0, 1, 2, 3}
    names = {
        f"{layer}.{metric}"
        for layer, metric in zip(*(everything[one].to_pylist() for one in ("layer", "metric")), strict=True)
    }
    assert sorted(names) == run.names()
    assert pyarrow.parquet.read_metadata(folder / "series.parquet").num_rows == everything.num_rows


def test_two_names_of_one_layer_share_its_word(printed: tuple[Path, list[dict[str, Any]]]) -> None:
    table = fw.load(printed[0]).series("workload.throughput", "storage.utilisation_pct", "workload.ops_per_s")
    words = table["layer"].combine_chunks().dictionary.to_pylist()
    assert len(words) == len(set(words)) == 2


def test_the_histograms_count_every_request(printed: tuple[Path, list[dict[str, Any]]]) -> None:
    folder, lines = printed
    run = fw.load(folder)
    table = run.histograms(cell=1).to_pylist()
    assert sum(row["count"] for row in table if row["kind"] == "all") == lines[1]["latency_us"]["count"]
    longest = max(row["latency_us"] for row in table if row["kind"] == "all")
    assert np.isclose(longest, lines[1]["latency_us"]["max"], rtol=0.01)
    assert {row["cell"] for row in run.histograms().to_pylist()} == {0, 1, 2, 3}


def test_the_tables_have_the_columns_of_query(printed: tuple[Path, list[dict[str, Any]]]) -> None:
    run = fw.load(printed[0])
    for table in TABLES:
        if table.name in ("summary", "metrics", "events"):
            assert getattr(run, table.name)().schema.names == [column.name for column in table.columns]


def test_charts_are_those_of_the_report(tpcc: Path, tmp_path: Path) -> None:
    run = fw.load(tpcc)
    names = run.charts()
    assert "database" in names and run.plot().name == names[0]
    chart = run.plot("database")
    assert chart.title == "Throughput, checkpoint age and dirty pages" and chart.about
    figure: Any = chart.figure()
    assert json.loads(json.dumps(figure, allow_nan=False)) == figure
    throughput = next(trace for trace in figure["data"] if "throughput" in trace["name"].lower() or trace.get("y"))
    assert len(throughput["x"]) == len(throughput["y"]) > 5
    assert chart.save(tmp_path / "chart.html").read_text() == chart.html()
    assert chart.save(tmp_path / "chart.html").exists(), "its own file may be replaced"
    (tmp_path / "mine.html").write_text("mine")
    with pytest.raises(fw.UserError, match="would be lost"):
        chart.save(tmp_path / "mine.html")
    with pytest.raises(fw.UserError, match=r"ends in \.html"):
        chart.save(tmp_path / "chart.gif")


def test_a_sweep_has_charts_over_all_cells_and_of_each(printed: tuple[Path, list[dict[str, Any]]]) -> None:
    run = fw.load(printed[0])
    assert run.charts() == ["sweep-throughput", "sweep-p95"]
    assert "throughput" in run.charts(0) and run.plot("throughput", cell=2).name == "throughput"
    with pytest.raises(fw.UserError, match=r"did you mean sweep-throughput\?"):
        run.plot("throughput")


@pytest.mark.slow
def test_a_picture(tpcc: Path, tmp_path: Path) -> None:
    try:
        find_browser()
    except fw.FlatwaterError:
        pytest.skip("no browser here")
    assert fw.load(tpcc).plot("database").save(tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    KINDS["cells with hostile names"](tmp_path / "run")
    run = fw.load(tmp_path / "run")
    page = run.plot("throughput", cell=0)._repr_html_()
    assert page.startswith("<iframe srcdoc=") and page.count("<") == 2, "nothing gets out of the frame"
    assert "<img src=x" not in run.plot("throughput", cell=0).html() and HOSTILE not in page


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda run: run.series("workload.throughputt"), r"did you mean workload\.throughput\?"),
        (lambda run: run.series(cell=4), r"no cell 4 .*0 to 3"),
        (lambda run: run.plot("nosuch", cell=0), "there is no chart 'nosuch'"),
        (lambda run: run.summary(to="excel"), "there is no library 'excel'"),
        (lambda run: fw.load("nosuch"), "no such folder"),
        (lambda run: fw.compare(run), "takes two results"),
        (lambda run: fw.run("quikc"), r"did you mean quick\?"),
        (lambda run: fw.run("quick", resume=True), "which result"),
        (lambda run: fw.what_if(run), "."),
    ],
)
def test_errors_are_one_line(printed: tuple[Path, list[dict[str, Any]]], ask: Any, told: str) -> None:
    with pytest.raises(fw.UserError, match=told) as raised:
        ask(fw.load(printed[0]))
    assert len(str(raised.value).splitlines()) == 1


@pytest.mark.parametrize("library", ["polars", "pandas"])
def test_data_frames(printed: tuple[Path, list[dict[str, Any]]], library: Any) -> None:
    run = fw.load(printed[0])
    for column, table, frame in (
        ("mean", run.summary(), run.summary(to=library)),
        ("value", run.series("workload.throughput"), run.series("workload.throughput", to=library)),
        ("kind", run.histograms(), run.histograms(to=library)),
    ):
        assert list(frame.columns) == table.schema.names and len(frame) == table.num_rows
        assert list(frame[column]) == table[column].to_pylist()


@pytest.mark.parametrize("library", ["polars", "pandas"])
def test_data_frames_of_a_library_that_is_not_there(
    printed: tuple[Path, list[dict[str, Any]]], library: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(fw.UserError, match=f"pip install {library}"):
        fw.load(printed[0]).summary(to=library)


def test_an_unfinished_run_has_what_it_recorded(tmp_path: Path) -> None:
    run = fw.load(synthetic.unfinished(tmp_path / "run"))
    assert run.status == "running" and run.series("workload.throughput").num_rows > 10
    assert run.summary().num_rows == len(run.as_json())


def test_a_killed_run_has_its_latencies(tmp_path: Path) -> None:
    result = started_run(tmp_path / "run")
    write_latencies(result, 1.0, [5], phase="warmup")
    write_latencies(result, 2.0, [90, 150])
    write_latencies(result, 3.0, [90])
    run = fw.load(tmp_path / "run")
    rows = run.histograms().to_pylist()
    counted = {kind: sum(row["count"] for row in rows if row["kind"] == kind) for kind in ("all", "read", "fsync")}
    assert counted == {"all": 3, "read": 3, "fsync": 3} and 90 <= min(row["latency_us"] for row in rows) < 91
    assert "histogram" in run.charts() and run.plot("histogram").figure()["data"]
    with result.cells[0].journal.open("a") as journal:
        journal.write('{"time_s": 4.0, "phase": "measure", "metrics": {}, "histograms": {"read": "AAAA"}}\n')
    with pytest.raises(fw.UserError, match="the histogram 'read' at 4 s is damaged"):
        fw.load(tmp_path / "run").histograms()


def test_a_result_without_cells(tmp_path: Path) -> None:
    synthetic.create(tmp_path / "none", [])
    run = fw.load(tmp_path / "none")
    assert run.charts() == [] and run.names() == [] and run.series().num_rows == run.histograms().num_rows == 0
    for ask in (run.plot, lambda: run.plot("throughput"), lambda: run.plot(cell=0), lambda: run.charts(0)):
        with pytest.raises(fw.UserError, match="it has no"):
            ask()


def test_a_result_whose_series_are_gone(printed: tuple[Path, list[dict[str, Any]]], tmp_path: Path) -> None:
    shutil.copytree(printed[0], tmp_path / "run")
    (tmp_path / "run" / "series.parquet").unlink()
    run = fw.load(tmp_path / "run")
    assert run.summary().num_rows == 4
    for ask in (run.series, run.names, lambda: run.series("workload.throughput", cell=0), lambda: run.plot(cell=0)):
        with pytest.raises(fw.UserError, match=r"there is no series\.parquet"):
            ask()


def test_run_compare_and_tags(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(SWEEP.replace("repeat = 2\n", ""))
    changes: dict[str, object] = {"workload.duration_s": 12, "sweep.workload.threads": [2, 4], "workload.mode": "rndrd"}
    first = fw.run(tmp_path / "x.toml", changes, out=tmp_path / "a", seed=7)
    assert first.status == "complete"
    assert [cell["set"] for cell in first.as_json()] == [{"workload.threads": 2}, {"workload.threads": 4}]
    second = fw.run(tmp_path / "x.toml", changes, out=tmp_path / "b", seed=8)
    comparison = fw.compare(first, tmp_path / "b")
    told = json.loads(call("compare", tmp_path / "a", tmp_path / "b", "--json"))
    assert [row.ratio for row in comparison.rows] == [row["ratio"] for row in told["rows"]]
    assert second.tags == {}
    call("tag", tmp_path / "b", "kernel=6.12")
    assert second.tags == {"kernel": "6.12"}
    with pytest.raises(fw.FlatwaterError, match="exists and is not empty"):
        fw.run(tmp_path / "x.toml", changes, out=tmp_path / "b")
    assert fw.run(tmp_path / "x.toml", changes, out=tmp_path / "b", seed=8, resume=True).as_json() == second.as_json()


def test_runs_in_threads(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(SWEEP)
    changes: dict[str, object] = {"workload.duration_s": 12, "sweep.workload.threads": [1], "repeat": 1}
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    with ThreadPoolExecutor(2) as threads:
        runs = list(
            threads.map(lambda seed: fw.run(tmp_path / "x.toml", changes, out=tmp_path / str(seed), seed=seed), (1, 2))
        )
    assert [run.status for run in runs] == ["complete"] * 2
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before


def test_a_run_that_fails_raises(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(SWEEP.replace("[sweep]", "[other]"))
    with pytest.raises(fw.UserError):
        fw.run(tmp_path / "x.toml", out=tmp_path / "a")


@pytest.mark.slow
def test_what_if_is_that_of_json(tmp_path: Path) -> None:
    tpcc = recorded.recorded(tmp_path / "run")
    found = fw.what_if(tpcc, {"database.cores": 1})
    told = json.loads(call("what-if", tpcc, "--set", "database.cores=1", "--json"))
    assert json.loads(json.dumps(found.as_json())) == told
    (row,) = found.table().to_pylist()
    assert (row["name"], row["ratio"], row["low"]) == tuple(
        told["changes"][0][name] for name in ("name", "ratio", "low")
    )


def test_the_names_of_the_package() -> None:
    wanted = "Chart Comparison FlatwaterError LoadedRun UserError WhatIf __version__ compare load run what_if"
    assert fw.__all__ == wanted.split() == dir(fw)
    stub = (Path(fw.__file__).parent / "__init__.pyi").read_text()
    given = {
        one.strip(" ,") for line in stub.splitlines() if "import" in line for one in line.split("import")[1].split(",")
    }
    assert given | {"__version__"} == set(fw.__all__)
    for name in fw.__all__:
        assert getattr(fw, name) is not None
    with pytest.raises(AttributeError):
        fw.nosuch  # type: ignore[attr-defined]  # noqa: B018


LEAKS = """
import sys
import flatwater
heavy = {"pyarrow", "numpy", "duckdb", "pydantic", "rich", "typer", "scipy", "jinja2"} & set(sys.modules)
assert not heavy, heavy
open_names = {name for name in vars(flatwater) if not name.startswith("_")}
assert not open_names, open_names
import flatwater.what_if
assert callable(flatwater.what_if)
from flatwater.what_if import predict
flatwater.load
assert not {"scipy", "duckdb", "kaleido", "typer"} & set(sys.modules), set(sys.modules)
"""


def test_the_import_is_cheap_and_nothing_leaks() -> None:
    cheap = LEAKS.replace(
        "import flatwater.what_if\nassert callable(flatwater.what_if)\nfrom flatwater.what_if import predict\n", ""
    )
    for script in (cheap, LEAKS.rpartition("flatwater.load\n")[0]):
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_a_chart_has_no_colours_of_its_own(tpcc: Path) -> None:
    text = json.dumps(fw.load(tpcc).plot("database").figure())
    assert any(colour in text for colour in DARK)
