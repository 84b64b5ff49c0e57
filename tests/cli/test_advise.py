"""The verb (tests/advise has what it says)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flatwater.cli import make_app
from flatwater.errors import UserError

EXPERIMENT = """
title = "Reads"
[workload]
kind = "fileio"
mode = "rndrd"
threads = 4
warmup_s = 5
duration_s = 60
[storage]
kind = "ssd"
device = "intel-520"
capacity_scale = 0.01
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("advise")
    (folder / "reads.toml").write_text(EXPERIMENT)
    call("run", str(folder / "reads.toml"), "--out", str(folder / "result"))
    return folder / "result"


def call(*arguments: str) -> str:
    ran = CliRunner().invoke(make_app(), list(arguments), catch_exceptions=False)
    assert ran.exit_code == 0, ran.output
    return ran.stdout


def test_says_what_bounded_it_even_with_nothing_to_change(run: Path) -> None:
    text = call("advise", str(run))
    assert "Nothing to change" in text or "1. " in text
    assert "ound" in text.splitlines()[1]


def test_as_json(run: Path) -> None:
    found = json.loads(call("advise", str(run), "--json"))
    assert (found["schema_version"], found["cell"], found["run"]) == (1, 0, str(run))
    assert found["bound"]["text"] in found["headline"]


def test_a_document(run: Path, tmp_path: Path) -> None:
    for name in ("advice.html", "advice.md"):
        assert str(tmp_path / name) in call("advise", str(run), "--out", str(tmp_path / name)).replace("\n", "")
        assert "Advice for" in (tmp_path / name).read_text()


def test_a_rule_that_there_is_not(run: Path) -> None:
    with pytest.raises(UserError, match="no such rule"):
        call("advise", str(run), "--rule", "magic")


def test_no_result(tmp_path: Path) -> None:
    with pytest.raises(UserError):
        call("advise", str(tmp_path))
