from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from flatwater.cli import check

app = typer.Typer()
app.command(check.NAME, epilog=check.EXAMPLES)(check.verb)
run = CliRunner()


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("good.toml").write_text('[workload]\nmode = "rndrd"\n[sweep]\nworkload.threads = [1, 2]\n')
    Path("bad.toml").write_text('[workload]\nmode = "rndrd"\nthreads = 0\nfils = 3\n')


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["good.toml"], "good.toml: ok, 2 cells, about 2 min"),
        (["good.toml", "--set", "workload.threads=4"], "good.toml: ok, 1 cell, about 1 min"),
        (["quick"], "quick: ok, 3 cells, about 30 s"),
        (["fill-level"], "fill-level: ok, 5 cells, at most 2 h 5 min"),
    ],
)
def test_a_good_file(arguments: list[str], line: str) -> None:
    result = run.invoke(app, arguments)
    assert (result.exit_code, result.stdout, result.stderr) == (0, line + "\n", "")


def test_every_problem_has_its_line() -> None:
    result = run.invoke(app, ["bad.toml"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.splitlines() == [
        "error: bad.toml:3: workload.threads: must be at least 1, not 0",
        "error: bad.toml:4: workload.fils: unknown field (hint: did you mean files?)",
    ]


def test_a_missing_file() -> None:
    result = run.invoke(app, ["god.toml"])
    assert result.exit_code == 2
    assert result.stderr == "error: god.toml: no such file (hint: did you mean good.toml?)\n"


def test_with_a_path_the_size_must_be_there_too() -> None:
    result = run.invoke(app, ["good.toml", "--set", "storage.path=."])
    assert result.exit_code == 2
    assert "storage.size is missing" in result.stderr
    assert run.invoke(app, ["good.toml", "--set", "storage.path=.", "--set", "storage.size=1G"]).exit_code == 0


def test_json() -> None:
    good = run.invoke(app, ["good.toml", "--json"])
    assert json.loads(good.stdout) == {
        "file": "good.toml",
        "ok": True,
        "name": "good",
        "real_s": 120.0,
        "cells": 2,
        "longest_s": 120.0,
        "layers": {"workload": "real", "database": "none", "cache": "none", "storage": "real"},
        "verdicts": 2,
        "warnings": [],
        "thresholds": [],
    }
    bad = run.invoke(app, ["bad.toml", "--json"])
    assert (bad.exit_code, bad.stderr) == (2, "")
    assert json.loads(bad.stdout)["errors"][1] == {
        "where": "bad.toml:4",
        "what": "workload.fils: unknown field",
        "hint": "did you mean files?",
    }


def test_a_thousand_million_cells() -> None:
    values = list(range(1, 1001))
    Path("many.toml").write_text(
        '[workload]\nmode = "rndrd"\nengine = "io_uring"\n[sweep]\n'
        f"workload.threads = {values}\nworkload.queue_depth = {values}\nworkload.rate_per_s = {values}\n"
    )
    result = run.invoke(app, ["many.toml"])
    assert result.stdout == "many.toml: ok, 1,000,000,000 cells, about 1,901 years\n"


def test_the_help_has_examples() -> None:
    assert "flatwater check my.toml" in run.invoke(app, ["--help"]).stdout


def test_which_layers_are_modelled_and_with_what() -> None:
    Path("box.toml").write_text(
        'kind = "memory"\ntitle = "A box"\ncapacity = "1GiB"\nlatency_us = 1\nread_mib_per_s = 1\nwrite_mib_per_s = 1\n'
    )
    model = ["--set", "storage.kind=memory", "--set", "storage.device=./box.toml"]
    told = re.sub(r"about \d+ s here", "about N s here", run.invoke(app, ["good.toml", *model]).stdout).splitlines()
    assert told == [
        "good.toml: ok, 2 cells, about 2 min of virtual time (computed in about N s here)",
        "modelled: workload, storage; A box (./box.toml)",
    ]
    scaled = [*model, "--set", "storage.capacity_scale=0.5", "--set", "storage.parameters.latency_us=2"]
    layers = json.loads(run.invoke(app, ["good.toml", *scaled, "--json"]).stdout)["layers"]
    assert layers["device"] == "A box (./box.toml; 0.5 of its capacity; latency_us replaced)"
    assert layers["storage"] == layers["workload"] == "modelled"


def test_a_device_that_cannot_be() -> None:
    result = run.invoke(app, ["good.toml", "--set", "storage.kind=ssd", "--set", "storage.device=tachion"])
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
    assert "storage.device: there is no device 'tachion'" in result.stderr


def test_a_device_file_is_no_experiment() -> None:
    Path("card.toml").write_text('kind = "memory"\ntitle = "A box"\n')
    result = run.invoke(app, ["card.toml"])
    assert result.exit_code == 2
    assert result.stderr.startswith("error: card.toml: is a modelled device's file, not an experiment (hint: ")
    assert "--set storage.kind=memory --set storage.device=./card.toml" in result.stderr


@pytest.mark.parametrize(
    ("device", "said"),
    [
        ("p320h", "did you mean micron-p320h-700-slc?"),
        ("zzz", "`flatwater list --devices` shows all of them"),
    ],
)
def test_a_part_of_a_device_name_is_enough_for_a_hint(device: str, said: str) -> None:
    model = ["--set", "storage.kind=ssd", "--set", f"storage.device={device}"]
    result = run.invoke(app, ["good.toml", *model])
    assert result.exit_code == 2
    assert said in result.stderr


def test_choices_that_are_numbers_are_listed() -> None:
    model = ["--set", "storage.kind=raid", "--set", "storage.device=raid10-8", "--set", "storage.parameters.level=7"]
    assert "7 is not a choice (hint: one of: 0, 1, 5, 10)" in run.invoke(app, ["good.toml", *model]).stderr


def test_an_array_of_other_members_is_not_called_by_its_files_title() -> None:
    told = run.invoke(app, ["raid-wear"]).stdout
    assert "RAID 5 of 4 intel-x25-m (devices/raid10-8.toml" in told


def test_it_says_that_no_verdict_can_come() -> None:
    """The library's `quick` measured 8 samples a cell, and a verdict takes 10."""
    short = ["good.toml", "--set", "workload.duration_s=8"]
    result = run.invoke(app, short)
    assert (result.exit_code, result.stdout) == (0, "good.toml: ok, 2 cells, about 16 s\n")
    assert result.stderr == (
        "warning: no cell can get a verdict: 8 samples of 1 s are measured, and it takes 10 "
        "(hint: workload.duration_s = 10 or more, or record.interval_s = 0.8)\n"
    )
    told = json.loads(run.invoke(app, [*short, "--json"]).stdout)
    assert (told["cells"], told["verdicts"], len(told["warnings"])) == (2, 0, 1)
    whole = json.loads(run.invoke(app, ["good.toml", "--json"]).stdout)
    assert (whole["cells"], whole["verdicts"], whole["warnings"]) == (2, 2, [])


def test_the_limits_that_a_run_must_pass_are_told_before_it() -> None:
    Path("limits.toml").write_text('[workload]\nmode = "rndrd"\n[thresholds]\nmean_min = 5000\nverdict = "flat"\n')
    result = run.invoke(app, ["limits.toml"])
    assert result.exit_code == 0
    assert result.stdout.splitlines()[1:] == [
        "thresholds: each cell must pass 2",
        "  mean_min: at least 5,000, in the run's unit",
        "  verdict: flat",
    ]
    told = json.loads(run.invoke(app, ["limits.toml", "--json"]).stdout)
    assert told["thresholds"] == ["mean_min: at least 5,000, in the run's unit", "verdict: flat"]
    assert json.loads(run.invoke(app, ["good.toml", "--json"]).stdout)["thresholds"] == []
