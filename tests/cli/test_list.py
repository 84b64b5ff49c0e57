from __future__ import annotations

import json
from pathlib import Path

import typer
from typer.testing import CliRunner

from flatwater.cli import list as list_verb
from flatwater.experiment import library
from flatwater.experiment.device.files import device_files

app = typer.Typer()
app.command(list_verb.NAME, epilog=list_verb.EXAMPLES)(list_verb.verb)
run = CliRunner()


def test_every_experiment_is_listed() -> None:
    result = run.invoke(app, [], env={"COLUMNS": "200"})
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    for entry in library():
        (line,) = [line for line in lines if line.split() and line.split()[0] == entry.name]
        assert f" {entry.cells} " in line
        assert line.rstrip().endswith(("real", "modelled"))


def test_json() -> None:
    listed = json.loads(run.invoke(app, ["--json"]).stdout)
    quick = next(entry for entry in listed if entry["name"] == "quick")
    assert (quick["cells"], quick["longest_s"]) == (3, 30.0)
    assert quick["layers"] == {"workload": "real", "database": "none", "cache": "none", "storage": "real"}
    assert Path(quick["path"]).is_file()
    assert [entry["name"] for entry in listed] == [entry.name for entry in library()]


def test_the_help_has_examples() -> None:
    assert "flatwater list --json" in run.invoke(app, ["--help"]).stdout


def test_the_devices() -> None:
    entries = json.loads(run.invoke(app, ["--devices", "--json"]).stdout)
    assert {entry["name"] for entry in entries} == set(device_files())
    assert all(entry["capacity_bytes"] > 0 and entry["title"] and entry["kind"] for entry in entries)
    lines = run.invoke(app, ["--devices"], env={"COLUMNS": "200"}).stdout.splitlines()
    for entry in entries:
        (line,) = [line for line in lines if line.split() and line.split()[0] == entry["name"]]
        assert f" {entry['kind']} " in line


def test_virtual_time_is_told_from_time_that_is_waited_for() -> None:
    virtual = {entry["name"]: entry["virtual_time"] for entry in json.loads(run.invoke(app, ["--json"]).stdout)}
    assert virtual["raid-life"] and not virtual["quick"]
    lines = run.invoke(app, [], env={"COLUMNS": "200"}).stdout.splitlines()
    assert {line.split()[0]: " * " in line for line in lines if line.split() and line.split()[0] in virtual} == virtual
    assert any(line.startswith("* of virtual time") for line in lines)
