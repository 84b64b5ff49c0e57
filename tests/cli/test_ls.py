from __future__ import annotations

import json
import re
import shutil
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from flatwater.cli import make_app
from flatwater.cli.columns import table_lines
from flatwater.cli.ls import parse_since
from flatwater.errors import UserError
from flatwater.results.tags import change_tags

sys.path.insert(0, str(Path(__file__).parent))
from each_result import HOSTILE, KINDS


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of some kinds, and what is none."""
    folder = tmp_path_factory.mktemp("results")
    for name, kind in {
        "sweep": "a sweep with repeats",
        "hostile": "cells with hostile names",
        "limits": "limits that fail",
        "killed": "interrupted",
        "deep/down/here": "beside what was published",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        KINDS[kind](folder / name)
    change_tags(folder / "sweep", {"kernel": "6.12", "owner": "ann"}, note="new firmware")
    change_tags(folder / "limits", {"kernel": "6.1"})
    (folder / "newer").mkdir()
    manifest = json.loads((folder / "limits/flatwater.json").read_text())
    (folder / "newer/flatwater.json").write_text(json.dumps(manifest | {"schema_version": 999}))
    (folder / "torn").mkdir()
    (folder / "torn/flatwater.json").write_text('{"schema_ver')
    (folder / "foreign").mkdir()
    (folder / "foreign/summary.json").write_text("{}")
    shutil.copytree(folder / "limits", folder / "halved")
    (folder / "halved/summary.json").write_bytes((folder / "limits/summary.json").read_bytes()[:999])
    return folder


def ls(*arguments: str | Path) -> Result:
    return CliRunner().invoke(make_app(), ["ls", *map(str, arguments)], env={"COLUMNS": "200"})


def names(result: Result) -> list[str]:
    assert result.exit_code == 0, result
    return [Path(one["run"]).name for one in json.loads(result.stdout)]


def test_each_run_is_a_line(results: Path) -> None:
    listed = ls(results)
    heading, *lines = listed.stdout.splitlines()
    assert heading.split() == ["run", "made", "experiment", "verdict", "mean", "unit", "thresholds", "tags"]
    assert {line.split()[0] for line in lines} == {
        str(results / name) for name in ("sweep", "hostile", "limits", "killed", "deep/down/here")
    }
    (sweep,) = [line for line in lines if "/sweep" in line]
    assert re.search(r"4 \w+ .*[\d,]+ to [\d,]+  IOPS .*kernel=6.12 owner=ann$", sweep)
    (limits,) = [line for line in lines if "/limits" in line]
    assert "failed: mean_min, life_min_years, cost_max" in limits


def test_what_is_no_sound_result_is_named_once_and_left_out(results: Path) -> None:
    lines = ls(results).stderr.splitlines()
    assert len(lines) == 3 and all(line.startswith(f"left out: {results}") for line in lines)
    told = {name: line for line in lines for name in ("newer", "torn", "halved") if f"/{name}" in line}
    assert "upgrade flatwater" in told["newer"] and "not JSON" in told["torn"] and "summary.json" in told["halved"]


def test_the_figures_are_those_of_the_summary(results: Path) -> None:
    (told,) = json.loads(ls(results / "sweep", "--json").stdout)
    cells = json.loads((results / "sweep/summary.json").read_text())["cells"]
    assert (told["cells"], told["cells_done"], told["unit"]) == (4, 4, "IOPS")
    assert told["mean_min"] == min(cell["mean"] for cell in cells)
    assert told["mean_max"] == max(cell["mean"] for cell in cells)
    assert sum(told["verdicts"].values()) == 4
    assert (told["tags"], told["note"]) == ({"kernel": "6.12", "owner": "ann"}, "new firmware")
    assert datetime.fromisoformat(told["created_at"]).tzinfo is not None


def test_filters(results: Path) -> None:
    assert set(names(ls(results, "--json", "--tag", "kernel"))) == {"sweep", "limits"}
    assert names(ls(results, "--json", "--tag", "kernel=6.12")) == ["sweep"]
    assert names(ls(results, "--json", "--tag", "kernel=6.12", "--tag", "owner=bob")) == []
    assert "killed" not in names(ls(results, "--json", "--since", "1d"))
    assert names(ls(results, "--json", "--since", "2999-01-01")) == []
    every = json.loads(ls(results, "--json").stdout)
    flat = {Path(one["run"]).name for one in every if "flat" in one["verdicts"]}
    assert flat and set(names(ls(results, "--json", "--verdict", "flat"))) == flat


def test_orders(results: Path) -> None:
    dates = [one["created_at"] for one in json.loads(ls(results, "--json").stdout)]
    assert dates == sorted(dates, reverse=True)
    runs = names(ls(results, "--json", "--sort", "run"))
    assert runs == ["here", "hostile", "killed", "limits", "sweep"]
    assert names(ls(results, "--json", "--sort", "run", "--reverse")) == runs[::-1]
    of_unit = [one for one in json.loads(ls(results, "--json", "--sort", "mean").stdout) if one["unit"] == "IOPS"]
    means = [one["mean_max"] for one in of_unit]
    assert len(means) > 2 and means == sorted(means, reverse=True)


def test_hostile_text_stays_text(results: Path) -> None:
    listed = ls(results / "hostile").stdout
    assert "\x1b" not in listed and "\u202e" not in listed and "\\u001b[31m" in listed
    assert len(listed.splitlines()) == 2
    (told,) = json.loads(ls(results / "hostile", "--json").stdout)
    assert told["title"] == HOSTILE


def test_a_folder_of_nothing(tmp_path: Path) -> None:
    listed = ls(tmp_path)
    assert (listed.exit_code, listed.stdout) == (0, "") and f"no results in {tmp_path}" in listed.stderr
    assert ls(tmp_path, "--json").stdout == "[]\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--sort", "dat"], "--sort: there is no 'dat' (hint: did you mean date?"),
        (["--verdict", "flatt"], "--verdict: there is no 'flatt' (hint: did you mean flat?"),
        (["--since", "yesterday"], "--since: 'yesterday' is no time"),
        (["--since", "99999999999w"], "is no time"),
        (["nosuch"], "nosuch: no such folder"),
        ([__file__], "this is no folder"),
    ],
)
def test_slips(arguments: list[str], told: str) -> None:
    error = ls(*arguments).exception
    assert isinstance(error, UserError) and told in str(error)


def test_since() -> None:
    assert abs(parse_since("2d") - (datetime.now(UTC) - timedelta(days=2))) < timedelta(minutes=5)
    assert parse_since("2026-11-01T14:00+02:00") == datetime(2026, 11, 1, 12, tzinfo=UTC)
    assert parse_since("2026-11-01").tzinfo is not None


def test_a_narrow_terminal_cuts_one_column() -> None:
    rows = [("run", "a title that is long", "1.5"), ("other", "漢字 and more of it and more", "12")]
    lines = list(table_lines(("name", "title", "mean"), rows, right={2}, elastic=1, width=26))
    assert lines == ["name   title          mean", "run    a title that…   1.5", "other  漢字 and mor…    12"]
    assert "漢字 and more of it and more" in list(table_lines(("n", "t", "m"), rows, elastic=1))[2]
