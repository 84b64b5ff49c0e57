"""What the advisories' tools say is told as it is: above all that nothing could be looked up."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

PATH = Path(__file__).parents[1] / "scripts" / "advisories.py"
spec = importlib.util.spec_from_file_location("advisories", PATH)
assert spec is not None and spec.loader is not None
advisories = importlib.util.module_from_spec(spec)
spec.loader.exec_module(advisories)

SAFE = {"name": "rich", "version": "14.0", "vulns": []}
BUG = {"name": "jinja2", "version": "2.0", "vulns": [{"id": "PYSEC-2019-217"}]}
UNKNOWN = {"name": "typer", "skip_reason": "not found"}


@pytest.mark.parametrize(
    ("packages", "found"),
    [([SAFE], []), ([SAFE, BUG], ["jinja2 2.0: PYSEC-2019-217"]), ([UNKNOWN, SAFE], "1 of 2 packages are not known")],
)
def test_pip_audit(packages: list[dict[str, object]], found: list[str] | str) -> None:
    told = advisories.read_pip_audit(json.dumps({"dependencies": packages}), "")
    assert told.startswith(found) if isinstance(found, str) else told == found


def test_cargo_audit() -> None:
    bug = {"package": {"name": "time", "version": "0.1.0"}, "advisory": {"id": "RUSTSEC-2020-0071"}}
    told = json.dumps({"vulnerabilities": {"list": [bug]}})
    assert advisories.read_cargo_audit(told, "") == ["time 0.1.0: RUSTSEC-2020-0071"]


@pytest.mark.parametrize("read", [advisories.read_pip_audit, advisories.read_cargo_audit])
def test_without_data_it_says_why(read: object, capsys: pytest.CaptureFixture[str]) -> None:
    assert callable(read)
    found = read("", "Fetching\nerror: couldn't fetch advisory database\n")
    assert advisories.tell("Cargo.lock", found) is False
    assert capsys.readouterr().out == "advisories: Cargo.lock: NOT CHECKED: error: couldn't fetch advisory database\n"
    assert isinstance(read("", ""), str) and isinstance(read("[]", "odd"), str)


def test_what_is_known_is_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    assert advisories.tell("x", ["a 1: B-1"]) is True
    assert capsys.readouterr().out == "advisories: x: 1 known\n  a 1: B-1\n"
