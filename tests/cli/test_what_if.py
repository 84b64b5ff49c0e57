"""The verb on what is no measured run, and on a real one (tests/what_if has what it computes)."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from flatwater.cli import what_if
from flatwater.errors import UserError
from flatwater.results.schema import Bound

sys.path.insert(0, str(Path(__file__).parents[1] / "what_if"))
from recorded import crashed, modelled, recorded

app = typer.Typer()
app.command(what_if.NAME, epilog=what_if.EXAMPLES)(what_if.verb)
POOL = "database.settings.innodb_buffer_pool_size=256M"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(recorded(tmp_path_factory.mktemp("run") / "run"))


def told(*arguments: str) -> str:
    ran = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert ran.exit_code == 0, ran.output
    return ran.stdout


def test_a_table_of_one_change(run: str) -> None:
    text = told(run, "--set", POOL)
    for word in ("nothing fitted", "pages read", "95 % interval", "innodb_buffer_pool_size"):
        assert word in text, text


def test_as_json_best_first(run: str) -> None:
    found = json.loads(told(run, "--set", POOL, "--set", "database.cores=1", "--json"))
    ratios = [one["ratio"] for one in found["changes"]]
    assert ratios == sorted(ratios, reverse=True) and len(ratios) == 2
    assert all(one["low"] <= one["ratio"] <= one["high"] for one in found["changes"])
    assert {one["name"] for one in found["fit"]["compared"]} >= {"pages read", "pages written", "redo"}


@pytest.mark.slow
def test_commas_and_together_make_one_change(run: str) -> None:
    commas = json.loads(told(run, "--set", f"{POOL},database.cores=1", "--json"))
    together = json.loads(told(run, "--set", POOL, "--set", "database.cores=1", "--together", "--json"))
    assert commas["changes"] == together["changes"] and len(commas["changes"]) == 1


@pytest.mark.slow
def test_a_setting_that_only_mariadbs_model_has_is_predicted_of_a_mariadb(run: str) -> None:
    (change,) = json.loads(told(run, "--set", "database.settings.innodb_purge_threads=1", "--json"))["changes"]
    assert change["low"] <= change["ratio"] <= change["high"]


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("database.settings.innodb_bufer_pool_size=1G", "did you mean innodb_buffer_pool_size"),
        ("database.settings.innodb_read_io_threads=8", "has no effect in the model"),
        ("storage.device=nope", "there is no device"),
        ("repeat=3", "repeat is not part of a stack"),
        ("pool", "must look like path.to.field=VALUE"),
        ("database.settings.innodb_buffer_pool_size=[1,2]", "must be one value"),
        ("storage.kind=file", "virtual time"),
    ],
)
def test_a_change_that_there_is_not(run: str, written: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as raised:
        told(run, "--set", written)
    assert raised.value.exit_code == 2 and "\n" not in str(raised.value)


def test_what_is_no_measured_run(tmp_path: Path, run: str) -> None:
    for folder, message in (
        (tmp_path / "nothing", "no such folder"),
        (modelled(tmp_path / "modelled"), "its server is modelled"),
        (crashed(tmp_path / "crashed"), "its server crashed in cell 0"),
    ):
        with pytest.raises(UserError, match=message) as raised:
            told(str(folder))
        assert raised.value.exit_code == 2 and "\n" not in str(raised.value)
    with pytest.raises(UserError, match="no complete real cell 7"):
        told(run, "--cell", "7")
    with pytest.raises(UserError, match="joins several --set"):
        told(run, "--together")


@pytest.mark.slow
def test_another_workload_is_predicted_and_has_no_ratio(run: str) -> None:
    asked = ("--set", "workload.connections=3", "--set", "database.settings.innodb_io_capacity=400")
    other, same = json.loads(told(run, *asked, "--json"))["changes"]
    if other["set"] != ["workload.connections=3"]:
        other, same = same, other
    assert (other["comparable"], other["not_comparable"]) == ("no", ["workload.connections"])
    assert (other["ratio"], other["low"], other["high"], other["ratios"]) == (None, None, None, None)
    assert other["throughput"] > 0
    assert (same["comparable"], same["not_comparable"]) == ("yes", [])
    assert same["ratio"] > 0
    anyway = json.loads(told(run, *asked[:2], "--anyway", "--json"))["changes"][0]
    assert anyway["ratio"] > 0
    assert "not comparable" in told(run, *asked[:2])


def test_what_is_counted_stays(run: str) -> None:
    with pytest.raises(UserError, match="would count something else than the run"):
        told(run, "--set", "workload.unit=tps")


def test_a_document(run: str, tmp_path: Path) -> None:
    told(run, "--set", POOL, "--out", str(tmp_path / "page.md"))
    text = (tmp_path / "page.md").read_text()
    assert "| what if |" in text
    assert "How well the twin does what was measured" in text
    assert "95 % interval" in text


@pytest.mark.slow
def test_a_storage_at_its_limit_has_no_figures(tmp_path: Path) -> None:
    """`advise` gives the same reason (tests/advise/effects); a change to another storage is predicted."""
    full = recorded(tmp_path / "full", bound=Bound(name="device throughput", share=0.8, of="time"))
    card = "storage.device=samsung-pm9a3-7680-tlc"
    asked = (str(full), "--set", POOL, "--set", card)
    found = json.loads(told(*asked, "--json"))
    assert [one["name"] for one in found["changes"]] == [card]
    (refused,) = found["not_predicted"]
    assert refused["name"] == "innodb_buffer_pool_size=256M"
    assert refused["why"].startswith("the storage was at its limit")
    text = told(*asked)
    assert "not predicted: the storage was at its limit" in text
    (row,) = (line for line in text.splitlines() if line.strip().startswith("innodb_buffer_pool_size=256M  "))
    assert not any(letter.isdigit() for letter in row.partition("256M")[2]), row
