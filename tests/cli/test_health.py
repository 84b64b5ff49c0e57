"""The verb: exit codes as monitoring expects them, and its formats."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

sys.path.insert(0, str(Path(__file__).parents[1] / "health"))
from recordings import drive, evidence

from flatwater import health as room
from flatwater.cli import health as verb
from flatwater.errors import UserError
from flatwater.health import Checkup
from flatwater.health.warnings import EXIT_CODES, Finding, Level

app = typer.Typer()
app.command(verb.NAME, epilog=verb.EXAMPLES)(verb.verb)
run = CliRunner()


def found(level: Level) -> Checkup:
    findings = () if level in ("ok", "unknown") else (Finding(level, "worn", "/dev/sda", "it is worn"),)
    return Checkup(evidence(drive(used_pct=5, power_on_hours=10)), findings, level)


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[Level]:
    """What the next look finds."""
    levels: list[Level] = []
    monkeypatch.setattr(room, "look_over", lambda *arguments, **more: found(levels[-1]))
    return levels


@pytest.mark.parametrize(("level", "code"), [("ok", 0), ("warning", 1), ("critical", 2), ("unknown", 3)])
def test_exit_codes_are_those_of_monitoring(looked: list[Level], level: Level, code: int) -> None:
    looked.append(level)
    assert EXIT_CODES[level] == code
    for arguments in ([], ["--json"], ["--openmetrics"]):
        assert run.invoke(app, arguments).exit_code == code
    assert run.invoke(app, []).stdout.startswith(level.upper())
    assert json.loads(run.invoke(app, ["--json"]).stdout)["exit_code"] == code
    assert f"flatwater_health_status {code}\n" in run.invoke(app, ["--openmetrics"]).stdout


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        (["--json", "--openmetrics"], "--json --openmetrics"),
        (["--device-type", "megaraid,0"], "--device-type"),
        (["/dev/sda", "--device-type", "-x"], "--device-type"),
        (["--device-type", "megaraid,0", "--", "-x"], "-x"),
        (["--dwpd", "0"], "--dwpd"),
        (["--dwpd", "nan"], "--dwpd"),
        (["--dwpd", "1", "--warranty-years", "0"], "--warranty-years"),
        (["/no/such/device"], "DEVICE"),
    ],
)
def test_bad_arguments(arguments: list[str], where: str) -> None:
    result = run.invoke(app, arguments)
    assert isinstance(result.exception, UserError)
    assert result.exception.where == where


def test_the_help_tells_the_exit_codes() -> None:
    told = " ".join(run.invoke(app, ["--help"], env={"COLUMNS": "200"}).stdout.split())
    assert "0 well, 1 warning, 2 critical" in told and "3 unknown" in told


def test_this_machine_is_looked_over_whatever_it_has() -> None:
    result = run.invoke(app, ["--no-history", "--json"])
    assert result.exit_code in (0, 1, 2, 3), result.exception
    told = json.loads(result.stdout)
    assert told["exit_code"] == result.exit_code
    assert all(one["seen"] or one["unseen"] for one in told["drives"])
