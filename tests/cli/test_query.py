from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from flatwater.catalogue import RUN, read_catalogue
from flatwater.catalogue.sql import VIEWS, ask
from flatwater.cli import make_app
from flatwater.errors import FlatwaterError, UserError
from flatwater.results import open_result
from flatwater.results.tags import change_tags

sys.path.insert(0, str(Path(__file__).parent))
sys.path.append(str(Path(__file__).parents[1] / "terminal"))
from each_result import HOSTILE, KINDS
from ptylab import FLATWATER


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    for name, kind in {
        "sweep": "a sweep with repeats",
        "hostile": "cells with hostile names",
        "limits": "limits that fail",
        "killed": "interrupted",
        "server": "tpcc, modelled",
    }.items():
        KINDS[kind](folder / name)
    change_tags(folder / "sweep", {"kernel": "6.12"}, note="it's new")
    return folder


def query(*arguments: str | Path) -> Result:
    return CliRunner().invoke(make_app(), ["query", *map(str, arguments)], env={"COLUMNS": "200"})


def rows(results: Path, question: str) -> list[dict[str, Any]]:
    asked = query(question, "--in", results, "--json")
    assert asked.exit_code == 0, (asked.exception, asked.stderr)
    found: list[dict[str, Any]] = json.loads(asked.stdout)
    return found


def test_every_table_can_be_asked_and_has_the_columns_that_are_listed(results: Path) -> None:
    listed: dict[str, list[str]] = {}
    for row in json.loads(query("--schema", "--json").stdout):
        listed.setdefault(row["table"], []).append(row["column"])
        assert row["about"] and row["type"]
    assert list(listed) == [view.name for view in VIEWS]
    catalogue = read_catalogue([results])
    for table, columns in listed.items():
        assert ask(catalogue, f"select * from {table}").columns == columns


def test_units_are_told(results: Path) -> None:
    """Of every figure: last in its name, or beside it."""
    endings = ("_s", "_us", "_bytes", "_per_op")
    counts = {"cells", "cells_done", "cell", "repeat", "dips", "stalls", "samples", "operations", "bytes", "errors"}
    counts |= {"thresholds_failed", "cores", "seed"}
    for row in json.loads(query("--schema", "--json").stdout):
        if row["type"] in ("double", "int64") and row["column"] not in counts:
            assert row["unit"] or row["column"].endswith(endings) or "_s_" in row["column"], row


def test_summary_and_series_are_those_of_the_result(results: Path) -> None:
    run = str(results / "sweep")
    cells = [cell.summary for cell in open_result(results / "sweep").cells]
    found = rows(
        results, f"select cell, mean, verdict, latency_p99_us p99 from summary where run = '{run}' order by cell"
    )
    assert found == [
        {"cell": one.cell, "mean": one.mean, "verdict": one.verdict, "p99": one.latency_us and one.latency_us.p99}
        for one in cells
        if one is not None
    ]
    stored = pyarrow.parquet.read_table(results / "sweep/series.parquet")
    (told,) = rows(results, f"select count(*) n, sum(value) total from series where run = '{run}'")
    assert told["n"] == stored.num_rows
    assert told["total"] == pytest.approx(sum(stored["value"].to_pylist()))


def test_joins_of_the_tables(results: Path) -> None:
    found = rows(
        results,
        "select s.run, t.value kernel, count(*) n from summary s join tags t using (run) join machine m using (run) "
        "join runs r using (run) where t.tag = 'kernel' and r.created_at > '2026-01-01' and m.cores > 0 group by all",
    )
    assert found == [{"run": str(results / "sweep"), "kernel": "6.12", "n": 4}]
    (limits,) = rows(results, "select distinct run from thresholds where not passed")
    assert limits["run"] == str(results / "limits")


def test_series_of_a_run_that_did_not_end_are_those_of_its_sealed_cells(results: Path, tmp_path: Path) -> None:
    shutil.copytree(results / "sweep", tmp_path / "run")
    (tmp_path / "run/cells/0000").mkdir(parents=True)
    (tmp_path / "run/series.parquet").rename(tmp_path / "run/cells/0000/series-00000.parquet")
    (told,) = rows(tmp_path, "select count(*) n from series")
    assert told["n"] == pyarrow.parquet.read_metadata(results / "sweep/series.parquet").num_rows


def test_only_the_files_of_the_chosen_runs_are_opened(results: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        shutil.copytree(results / "limits", tmp_path / name)
    (tmp_path / "b/series.parquet").write_bytes(b"not Parquet at all")
    asked = query(f"select count(*) n from series where run = '{tmp_path / 'a'}'", "--in", tmp_path, "--json")
    assert asked.exit_code == 0 and json.loads(asked.stdout)[0]["n"] > 0 and not asked.stderr


@pytest.mark.parametrize("damage", ["garbage", "half", "foreign", "page"])
def test_damaged_series_are_left_out_in_one_line(results: Path, tmp_path: Path, damage: str) -> None:
    for name in ("a", "b"):
        shutil.copytree(results / "limits", tmp_path / name)
    file = tmp_path / "b/series.parquet"
    whole = file.read_bytes()
    if damage == "foreign":
        pyarrow.parquet.write_table(pa.table({"x": ["y"]}), file)
    else:
        file.write_bytes(
            {"garbage": b"x", "half": whole[: len(whole) // 2], "page": b"PAR1" + bytes(800) + whole[804:]}[damage]
        )
    asked = query("select distinct run from series where value is not null", "--in", tmp_path, "--json")
    assert asked.exit_code == 0, asked.exception
    assert {row["run"] for row in json.loads(asked.stdout)} >= {str(tmp_path / "a")}
    if damage != "foreign":
        assert [row["run"] for row in json.loads(asked.stdout)] == [str(tmp_path / "a")]
        (line,) = asked.stderr.splitlines()
        assert line.startswith(f"left out: {tmp_path / 'b'}: its series: series.parquet: ")


def test_forms(results: Path) -> None:
    question = "select name, cells, 1.5::double x, null n, [1, 2] l, date '2026-01-02' d from runs where name = 'sweep'"
    assert query(question, "--in", results).stdout == (
        "name   cells    x  n  l       d\nsweep      4  1.5  -  [1, 2]  2026-01-02\n"
    )
    assert query(question, "--in", results, "--csv").stdout == (
        'name,cells,x,n,l,d\nsweep,4,1.5,,"[1, 2]",2026-01-02\n'
    )
    assert rows(results, question) == [
        {"name": "sweep", "cells": 4, "x": 1.5, "n": None, "l": [1, 2], "d": "2026-01-02"}
    ]
    assert rows(results, "select 1 a, 2 a, 3 a") == [{"a": 1, "a_2": 2, "a_3": 3}]
    assert rows(results, "select 'nan'::double x, 'inf'::double y, sum(1) z") == [{"x": None, "y": None, "z": 1}]
    assert query("select 1 where false", "--in", results, "--json").stdout == "[]\n"
    assert query("select 1 a where false", "--in", results).stdout == "a\n"


def test_large_answers_are_whole(results: Path) -> None:
    assert len(rows(results, "select range r from range(25001)")) == 25_001


def test_hostile_text(results: Path) -> None:
    question = "select title from runs where title like '<img%'"
    assert rows(results, question) == [{"title": HOSTILE}]
    for form in ([], ["--csv"], ["--json"]):
        text = query(question, "--in", results, *form).stdout
        # The program's output is guarded; the table is fit for a terminal by itself.
        assert form or ("\x1b" not in text and "\u202e" not in text)
    (row,) = csv.DictReader(io.StringIO(query(question, "--in", results, "--csv").stdout))
    assert row["title"] == HOSTILE


@pytest.mark.parametrize(
    "question",
    [
        "copy (select 1) to 'evil.csv'",
        "export database 'evil'",
        "create table x as select 1",
        "insert into tags values ('a', 'b', 'c')",
        "drop view runs",
        "update runs set name = 'x'",
        "attach 'evil.db'",
        "install httpfs",
        "load httpfs",
        "set enable_external_access = true",
        "reset lock_configuration",
        "pragma enable_external_access",
        "explain analyze copy (select 1) to 'evil.csv'",
        "call pragma_version()",
        "begin",
        "checkpoint",
        "select 1; copy (select 1) to 'evil.csv'",
        "select 1; select 2",
        "",
        " -- nothing",
        "select * from read_csv('secret.csv')",
        "select * from 'secret.csv'",
        "select * from read_text('secret.csv')",
        "select * from read_blob('*')",
        "select * from glob('*')",
        "select * from read_parquet('sweep/series.parquet')",
        "select * from parquet_metadata('sweep/series.parquet')",
        "select * from read_json('sweep/summary.json')",
        "select * from sniff_csv('secret.csv')",
        "select * from read_duckdb('evil.db')",
        "select * from catalogue",
        "select * from query('copy (select 1) to ''evil.csv''')",
        "select * from sqlite_scan('a', 'b')",
        "select getenv('HOME')",
        "selec",
        "select nosuch from runs",
        "select * from nosuch",
        "select 1 +",
        "select 'a'::int",
        "select error('one\ntwo')",
        "select \x00",
        "select '\udcff'",
    ],
)
def test_a_question_reads_the_tables_and_nothing_else(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, question: str
) -> None:
    (tmp_path / "secret.csv").write_text("secret\n1\n")
    (tmp_path / "sweep").symlink_to(results / "sweep")
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir()), sorted(results.rglob("*"))
    asked = query(question, "--in", results)
    assert isinstance(asked.exception, UserError), (asked.stdout, asked.exception)
    text = str(asked.exception)
    assert text.startswith("SQL: ") and len(text.splitlines()) == 1 and len(text) < 700 and "LINE 1" not in text
    assert (sorted(tmp_path.iterdir()), sorted(results.rglob("*"))) == before
    assert "secret" not in asked.stdout


@pytest.fixture(scope="module")
def catalogue(results: Path) -> Any:
    return read_catalogue([results])


@settings(max_examples=60)
@given(question=st.text(max_size=60) | st.text("select*from(runs,)'\";-1 whe", max_size=60).map("select {}".format))
def test_any_text_is_an_answer_or_one_line(catalogue: Any, question: str) -> None:
    try:
        list(ask(catalogue, question).rows)
    except FlatwaterError as error:
        assert len(str(error).splitlines()) == 1


def test_what_does_not_fit_is_told_and_spills_nowhere(
    catalogue: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from flatwater.catalogue import sql

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sql, "_CONFIG", sql._CONFIG | {"memory_limit": "20MB"})
    with pytest.raises(FlatwaterError, match="does not fit into memory"):
        list(ask(catalogue, "select r, count(*) from range(5000000) t(r) group by r order by r").rows)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "SQL: which question?"),
        (["select 1", "--json", "--csv"], "--csv: is one form"),
        (["select 1", "--in", "nosuch"], "nosuch: no such folder"),
    ],
)
def test_slips(arguments: list[str], told: str) -> None:
    error = query(*arguments).exception
    assert isinstance(error, UserError) and told in str(error)


def test_the_run_is_a_path_that_other_commands_take(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(results)
    asked = query(f"select {RUN} from runs order by 1", "--json")
    assert [row["run"] for row in json.loads(asked.stdout)] == ["hostile", "killed", "limits", "server", "sweep"]
    monkeypatch.chdir(results / "sweep")
    assert [row["run"] for row in json.loads(query("select run from runs", "--json").stdout)] == ["."]


def test_a_path_of_a_pipe_is_the_path(results: Path, tmp_path: Path) -> None:
    name = 'turned \u202e "round"'
    shutil.copytree(results / "limits", tmp_path / name)
    for form in ("--csv", "--json"):
        command = [*FLATWATER, "query", "select run from runs", form]
        told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
        found = json.loads(told)[0]["run"] if form == "--json" else list(csv.reader(io.StringIO(told)))[1][0]
        assert found == name and (tmp_path / found / "flatwater.json").exists()
