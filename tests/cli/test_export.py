from __future__ import annotations

import csv
import itertools
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from typer.testing import CliRunner, Result

import flatwater as fw
from flatwater.cli import make_app
from flatwater.errors import UserError
from flatwater.export import FORMATS

sys.path.insert(0, str(Path(__file__).parent))
from each_result import HOSTILE, KINDS

SAMPLE = re.compile(r'(\w+)\{((?:\w+="(?:[^"\\\n]|\\["\\n])*",?)*)\} (\S+) (\d+\.\d{3})')


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    KINDS["a sweep with repeats"](folder / "sweep")
    KINDS["cells with hostile names"](folder / 'ho"st\\ile')
    KINDS["interrupted"](folder / "killed")
    KINDS["limits that fail"](folder / "one")
    return folder


def export(*arguments: str | Path) -> Result:
    return CliRunner().invoke(make_app(), ["export", *map(str, arguments)])


def refused(*arguments: str | Path) -> str:
    error = export(*arguments).exception
    assert isinstance(error, UserError), error
    return str(error)


def test_csv_has_every_value(results: Path, tmp_path: Path) -> None:
    done = export(results / "sweep", "--to", tmp_path / "out", "--format", "csv")
    assert done.stdout.split() == [str(tmp_path / "out/summary.csv"), str(tmp_path / "out/series.csv")]
    run = fw.load(results / "sweep")
    with (tmp_path / "out/series.csv").open() as handle:
        rows = list(csv.DictReader(handle))
    want = run.series().to_pylist()
    assert list(rows[0]) == ["cell", "layer", "metric", "time_s", "value"] and len(rows) == len(want)

    def key(row: dict[str, Any]) -> tuple[int, str, str, float]:
        return int(row["cell"]), row["layer"], row["metric"], float(row["time_s"])

    for row, other in zip(sorted(rows, key=key), sorted(want, key=key), strict=True):
        assert key(row) == key(other) and float(row["value"]) == other["value"]
    with (tmp_path / "out/summary.csv").open() as handle:
        cells = list(csv.DictReader(handle))
    assert [float(cell["mean"]) for cell in cells] == [cell["mean"] for cell in run.as_json()]
    assert [json.loads(cell["set"]) for cell in cells] == [cell["set"] for cell in run.as_json()]


def test_parquet_has_every_value(results: Path, tmp_path: Path) -> None:
    export(results / "sweep", "--to", tmp_path / "out", "--format", "parquet")
    ours = pyarrow.parquet.read_table(tmp_path / "out/series.parquet")
    stored = pyarrow.parquet.read_table(results / "sweep/series.parquet")
    for name in ("layer", "metric", "time_s", "value"):
        assert ours[name].to_pylist() == stored[name].to_pylist()
    summary = pyarrow.parquet.read_table(tmp_path / "out/summary.parquet")
    assert summary.to_pylist() == fw.load(results / "sweep").summary().to_pylist()


def test_json_has_the_cells_and_the_series(results: Path, tmp_path: Path) -> None:
    export(results / "sweep", "--to", tmp_path / "x.json")

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    told = json.loads((tmp_path / "x.json").read_text(), parse_constant=refuse)
    run = fw.load(results / "sweep")
    assert told["cells"] == run.as_json() and told["name"] == "sweep"
    assert {f"{one['layer']}.{one['metric']}" for one in told["series"]} == set(run.names())
    (first,) = [
        one for one in told["series"] if (one["cell"], one["metric"], one["layer"]) == (2, "throughput", "workload")
    ]
    want = run.series("workload.throughput", cell=2)
    assert first["value"] == want["value"].to_pylist() and first["time_s"] == want["time_s"].to_pylist()


@pytest.mark.parametrize("name", ["sweep", 'ho"st\\ile', "one", "killed"])
def test_openmetrics_is_as_the_specification_asks(results: Path, tmp_path: Path, name: str) -> None:
    export(results / name, "--to", tmp_path / "x.prom")
    text = (tmp_path / "x.prom").read_text()
    assert text.endswith("# EOF\n") and text.count("# EOF") == 1
    families: list[str] = []
    last: dict[tuple[str, str], float] = {}
    samples = 0
    for line in text.splitlines()[:-1]:
        if line.startswith("# TYPE "):
            families.append(line.split()[2])
        elif not line.startswith("# HELP "):
            found = SAMPLE.fullmatch(line)
            assert found is not None, line
            family, labels, value, at = found.groups()
            assert family == families[-1] and float(value) == float(value)
            assert float(at) > last.get((family, labels), 0.0)
            last[family, labels] = float(at)
            samples += 1
    assert len(families) == len(set(families)) > 3
    scraped = list(text_string_to_metric_families(text))
    assert [one.name for one in scraped] == families and sum(len(one.samples) for one in scraped) == samples
    run = fw.load(results / name)
    finite = [value for value in run.series()["value"].to_pylist() if value == value]
    assert samples >= len(finite)


def test_names_that_become_the_same_are_one_metric(tmp_path: Path) -> None:
    from flatwater.export import openmetrics
    from flatwater.results import open_result

    KINDS["limits that fail"](tmp_path / "run")
    table = pyarrow.parquet.read_table(tmp_path / "run/series.parquet")
    rows = [row | {"metric": name} for row in table.to_pylist()[:3] for name in ("a-b", "a.b", "a_b")]
    rows.sort(key=lambda row: (row["metric"], row["time_s"]))
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows, schema=table.schema), tmp_path / "run/series.parquet")
    text = "".join(openmetrics.pieces(open_result(tmp_path / "run")))
    assert len(re.findall(r"^# TYPE flatwater_\w+_a_b gauge$", text, re.MULTILINE)) == 1
    assert len(re.findall(r"^flatwater_\w+_a_b\{", text, re.MULTILINE)) == 3


def test_hostile_text_stays_a_value(results: Path, tmp_path: Path) -> None:
    for name in ("x.csv", "x.json"):
        export(results / 'ho"st\\ile', "--to", tmp_path / name, *(["--table", "summary"] if name == "x.csv" else []))
    assert json.loads((tmp_path / "x.json").read_text())["title"] == HOSTILE
    with (tmp_path / "x.csv").open() as handle:
        assert len(list(csv.DictReader(handle))) == 2


def test_a_run_that_did_not_end_is_written_as_far_as_it_came(results: Path, tmp_path: Path) -> None:
    export(results / "killed", "--to", tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text().count("\n") - 1 == fw.load(results / "killed").series().num_rows > 10


@pytest.mark.parametrize("name", FORMATS)
def test_nothing_is_replaced_unless_asked(results: Path, tmp_path: Path, name: str) -> None:
    file = tmp_path / f"x{FORMATS[name].endings[0]}"
    file.write_text("mine")
    assert "is there already" in refused(results / "one", "--to", file) and file.read_text() == "mine"
    (tmp_path / "link").symlink_to(file)
    assert export(results / "one", "--to", file, "--overwrite").exit_code == 0
    assert file.read_bytes() != b"mine" and {path.name for path in tmp_path.iterdir()} == {file.name, "link"}


def test_one_file_that_is_there_keeps_all_from_being_written(results: Path, tmp_path: Path) -> None:
    (tmp_path / "series.csv").write_text("mine")
    assert "is there already" in refused(results / "one", "--to", tmp_path, "--format", "csv")
    assert [path.name for path in tmp_path.iterdir()] == ["series.csv"]


def test_a_result_is_never_written_into(results: Path, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in (results / "one").iterdir()}
    (tmp_path / "link").symlink_to(results / "one")
    for to in (
        results / "one",
        results / "one/x.csv",
        results / "one/new",
        tmp_path / "link",
        tmp_path / "link/series.parquet",
    ):
        assert "is in the result itself" in refused(results / "one", "--to", to, "--format", "parquet", "--overwrite")
    assert {path: path.read_bytes() for path in (results / "one").iterdir()} == before


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--to", "x"], "--to x: in which format?"),
        (["--to", "x.xlsx"], "in which format?"),
        (
            ["--to", "/dev/full", "--format", "csv"],
            "--to /dev/full: cannot make the folder: a file is in the way (hint: name a folder, or one ",
        ),
        (["--to", "/dev/full/x.csv"], "--to /dev/full: cannot make the folder: a file is in the way (hint: "),
        (["--to", "x", "--format", "cvs"], "--format: there is no format 'cvs' (hint: did you mean csv?"),
        (["--to", "x.csv", "--table", "serie"], "--table: there is no table 'serie'"),
        (["--to", "x.json", "--table", "series"], "--table: json has all tables in one file"),
    ],
)
def test_slips(results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], told: str) -> None:
    monkeypatch.chdir(tmp_path)
    assert told in refused(results / "one", *arguments)
    assert not list(tmp_path.iterdir())


def test_a_full_disk_leaves_nothing(results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from flatwater import owned
    from flatwater.export import json_text

    def full(*_: object) -> Any:
        yield "{"
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(json_text, "pieces", full)
    for more in ([], ["--overwrite"]):
        error = export(results / "one", "--to", tmp_path / "x.json", *more).exception
        assert isinstance(error, fw.FlatwaterError) and "No space left" in str(error) and error.exit_code == 1
        assert error.hint == "make room there, or choose another place"
        assert not list(tmp_path.iterdir()) and owned


def test_the_formats_of_the_help_are_all(results: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/runs.md").read_text()
    assert all(f"`{name}`" in page for name in FORMATS)
    endings = list(itertools.chain(*(one.endings for one in FORMATS.values())))
    assert len(endings) == len(set(endings))
