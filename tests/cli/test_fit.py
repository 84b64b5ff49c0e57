from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from flatwater.cli import fit
from flatwater.errors import UserError
from flatwater.experiment.device.load import load_device

app = typer.Typer()
app.command(fit.NAME, epilog=fit.EXAMPLES)(fit.verb)
CARD = "virident-tachion-400-slc"
FREE = "controller.write_mib_per_s,collector.relocation_mib_per_s"


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "fill.csv"
    rows = ["0.2,990", "0.6,783", "1.0,417"]
    path.write_text("fill,queue_depth,metric,value\n" + "".join(f"{row.replace(',', ',128,MiB/s,')}\n" for row in rows))
    return str(path)


def run(*arguments: str) -> str:
    ran = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert ran.exit_code == 0, ran.output
    return ran.stdout


def test_rows_parameters_and_a_file(table: str, tmp_path: Path) -> None:
    out = tmp_path / "fitted.toml"
    told = run(CARD, table, "--free", FREE, "--out", str(out))
    assert "rms error" in told and "95 % interval" in told and f"written: {out}" in told.replace("\n", "")
    assert load_device(str(out)).title == "Virident tachIOn 400 GB SLC"


def test_as_json(table: str) -> None:
    told = json.loads(run(CARD, table, "--free", FREE, "--json"))
    assert [one["name"] for one in told["parameters"]] == FREE.split(",")
    assert len(told["rows"]) == 3 and told["rms"] < 0.05


def test_a_file_that_is_there_is_not_written_over(table: str) -> None:
    with pytest.raises(UserError, match="exists already"):
        run(CARD, table, "--free", FREE, "--out", table)


def test_what_is_wrong_with_the_arguments(table: str) -> None:
    with pytest.raises(UserError, match="there is no device"):
        run("virident-tachyon", table, "--free", FREE)
    with pytest.raises(UserError, match="is no number over 0"):
        run(CARD, table, "--free", "controller.speed")
