"""The verb on modelled runs, on a real one, and on arguments that make no sense."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from flatwater.cli import cost
from flatwater.errors import UserError
from flatwater.experiment import make_experiment
from flatwater.runner.progress import start_reporter
from flatwater.runner.sweep import run_experiment

sys.path.insert(0, str(Path(__file__).parents[1] / "what_if"))
from recorded import recorded

app = typer.Typer()
app.command(cost.NAME, epilog=cost.EXAMPLES)(cost.verb)
MINE = """\
[[line]]
name = "my-drive"
title = "A drive | <b>of mine</b>"
kind = "flash"
price = 800
date = 2024-01-01
capacity = "1TB"
endurance = "1PB"
power_w = 12
source = "a shop <script>alert(1)</script>"

[[line]]
name = "my-memory"
title = "Memory"
kind = "memory"
price = 3
per = "GB"
date = 2024-01-01
power_w = 0.3
source = "a shop"
"""


@pytest.fixture(scope="module")
def cards(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two cards under random writes, in virtual time."""
    experiment = make_experiment(
        {
            "name": "cards",
            "workload": {"kind": "fileio", "mode": "rndwr", "threads": 8, "duration_s": 20, "warmup_s": 0},
            "storage": {"kind": "ssd", "capacity_scale": 0.05},
            "sweep": {"storage.device": ["intel-910-2x200", "virident-tachion-400-slc"]},
        }
    )
    out = tmp_path_factory.mktemp("cards") / "cards"
    reporter = start_reporter()
    run_experiment(experiment, out, reporter, lambda *_: None)
    reporter.close()
    return str(out)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(recorded(tmp_path_factory.mktemp("run") / "run"))


@pytest.fixture
def mine(tmp_path: Path) -> str:
    (tmp_path / "mine.toml").write_text(MINE)
    return str(tmp_path / "mine.toml")


def told(*arguments: str) -> str:
    ran = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert ran.exit_code == 0, ran.output
    return ran.stdout


def data(*arguments: str) -> dict[str, Any]:
    found = json.loads(told(*arguments, "--json"))
    assert isinstance(found, dict)
    return found


def test_a_sweep_of_cards_in_a_table(cards: str) -> None:
    text = told(cards)
    for word in ("Cheapest for its throughput", "frontier", "cost, 3 years", "prices as of 2012-09-01"):
        assert word in text, text


def test_every_sum_names_its_lines(cards: str) -> None:
    found = data(cards)
    for row in found["rows"]:
        assert row["items"] and {item["line"] for item in row["items"]} <= found["lines"].keys()
        bought = sum(item["once"] * (1 + item["replacements"]) for item in row["items"])
        assert row["cost"] == pytest.approx(bought + (row["electricity"] or 0))
        assert row["cost_per_unit"] == pytest.approx(row["cost"] / row["throughput"])
        assert row["cost_per_unit_low"] <= row["cost_per_unit"] <= row["cost_per_unit_high"]
    assert all(line["source"] and line["date"] and line["place"] for line in found["lines"].values())
    text = told(cards, "--lines")
    for name, line in found["lines"].items():
        assert name in text and line["date"] in text


def test_life_is_of_this_load(cards: str) -> None:
    intel = next(row for row in data(cards)["rows"] if any("910" in item["line"] for item in row["items"]))
    (item,) = intel["items"]
    assert item["life"]["rated_years"] > 0 and item["life"]["cell_years"] > 0
    assert item["life"]["years"] == min(item["life"]["rated_years"], item["life"]["cell_years"])


def test_years_load_and_day(cards: str) -> None:
    one, five = data(cards, "--years", "1"), data(cards, "--years", "5", "--load", "100000")
    assert one["years"] == 1 and five["years"] == 5 and five["load"] == 100_000
    assert all(row["servers"] * row["throughput"] >= 100_000 for row in five["rows"])
    assert data(cards, "--date", "2010-01-01")["prices_as_of"] == "2010-01-01"


def test_a_real_run_takes_told_parts(server: str, mine: str) -> None:
    (row,) = data(server)["rows"]
    assert row["cost"] is None and "on a drive that no experiment names" in row["unpriced"][0]
    assert "--item LINE=QUANTITY" in told(server)
    found = data(server, "--prices", mine, "--item", "my-drive", "--item", "my-memory=4")
    (row,) = found["rows"]
    assert row["price"] == 812 and row["watts"] == pytest.approx(13.2)
    assert found["electricity"] is not None and row["electricity"] > 0


@pytest.mark.slow
def test_a_prediction_carries_its_interval(server: str, mine: str) -> None:
    found = data(
        server, "--prices", mine, "--item", "my-drive", "--set", "database.settings.innodb_buffer_pool_size=256M"
    )
    row = next(row for row in found["rows"] if row["predicted"])
    assert row["throughput_low"] < row["throughput"] < row["throughput_high"]
    assert row["cost_per_unit_low"] == pytest.approx(row["cost"] / row["throughput_high"])
    assert row["cost_per_unit_high"] == pytest.approx(row["cost"] / row["throughput_low"])
    items = [(row["predicted"], item) for row in found["rows"] for item in row["items"]]
    memory = {predicted: item["quantity"] for predicted, item in items if item["role"] == "memory"}
    assert memory == {False: pytest.approx(96 / 1024), True: 0.25}


@pytest.mark.parametrize("suffix", [".html", ".md"])
def test_pages(server: str, mine: str, tmp_path: Path, suffix: str) -> None:
    out = tmp_path / f"cost{suffix}"
    arguments = (server, "--prices", mine, "--item", "my-drive", "--item", "my-memory=4", "--out", str(out))
    assert f"written: {out}" in told(*arguments)
    text = out.read_text()
    assert "alert(1)</script>" not in text and "<b>of mine" not in text
    assert "my\\-drive" in text or "my-drive" in text
    assert "2024-01-01" in text and "95 % interval" in text
    if suffix == ".html":
        assert "default-src" in text and '"error_y"' in text
    else:
        assert "A drive \\| " in text
    told(*arguments)  # what flatwater wrote may be written again
    out.write_text("mine")
    with pytest.raises(UserError, match="was not written by flatwater"):
        told(*arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--item", "intel-910-400-2012=two"], "is no line with a quantity"),
        (["--item", "intel-910-400-2012=nan"], "is no line with a quantity"),
        (["--item", "=2"], "is no line with a quantity"),
        (["--item", "intel-910-400-201"], "did you mean intel-910-400-2012"),
        (["--date", "tomorrow"], "must be a day"),
        (["--date", "2999-01-01"], "has not come yet"),
        (["--prices", "nothing.toml"], "cannot be read"),
        (["--cell", "99"], "has no complete cell 99"),
        (["--out", "cost.pdf"], "is neither a page nor Markdown"),
    ],
)
def test_arguments_that_make_no_sense(cards: str, arguments: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        told(cards, *arguments)


def test_no_result_and_several_with_one_cell(cards: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not a flatwater result"):
        told(str(tmp_path))
    with pytest.raises(UserError, match="is of one run, not of 2"):
        told(cards, cards, "--cell", "0")


def test_what_answers_different_questions_has_no_frontier(cards: str, server: str) -> None:
    with pytest.raises(UserError, match="which cannot be compared"):
        told(cards, server)
