from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from flatwater.errors import UserError
from flatwater.results.tags import change_tags
from flatwater.serve.folders import find_results
from flatwater.serve.listed import TITLE_MAX, Listed, read_listed


def listed(folder: Path) -> Listed:
    (place,) = find_results([folder])
    return read_listed(place)


def write(folder: Path, cells: list[dict[str, object]], **manifest: object) -> Path:
    folder.mkdir(exist_ok=True)
    plans = [{"index": index, "repeat": 0, "set": {}, "seed": 1} for index in range(max(1, len(cells)))]
    whole = {"name": "n", "flatwater_version": "0", "status": "complete", "created_at": "2026-01-02T03:04:05Z"}
    (folder / "flatwater.json").write_text(json.dumps({**whole, "seed": 1, "cells": plans, **manifest}))
    (folder / "summary.json").write_text(json.dumps({"cells": cells}))
    return folder


def cell(mean: float | None, **more: object) -> dict[str, object]:
    return {"unit": "tps", "status": "complete", "mean": mean, "verdict": "flat", **more}


def test_a_cell(two_results: Path) -> None:
    one = listed(two_results / "one")
    assert (one.mean_text, one.verdicts, one.cells, one.done) == ("427.1 MiB/s", {"stalls": 1}, 1, 1)
    assert one.limits_text == ""


def test_a_sweep_has_its_lowest_and_highest_mean(two_results: Path) -> None:
    one = listed(two_results / "all" / "fill")
    assert one.cells == one.done == len(one.means) == 10
    assert one.mean_text.endswith(" MiB/s") and " to " in one.mean_text
    assert sum(one.verdicts.values()) == 10


def test_thresholds_are_counted(tmp_path: Path) -> None:
    limits = [{"name": "a", "passed": True}, {"name": "b", "passed": False}]
    one = listed(write(tmp_path / "r", [cell(1.0, thresholds=limits), cell(2.0, thresholds=limits[:1])]))
    assert (one.kept, one.limits, one.limits_text) == (2, 3, "2 of 3 kept")


def test_what_has_no_verdict(tmp_path: Path) -> None:
    cells = [cell(None, verdict=None), cell(None, verdict=None, status="failed"), cell(5.0, verdict=None)]
    one = listed(write(tmp_path / "r", cells, status="failed"))
    assert one.verdicts == {"not judged": 2, "failed": 1} and one.mean_text == "5 tps"


@pytest.mark.parametrize("name", ["experiment.toml", "servers", "servers/0000/variables.json"])
def test_a_link_in_a_result_shows_nobody_elses_file(tmp_path: Path, name: str) -> None:
    secret = tmp_path / "secret.toml"
    secret.write_text('password = "of somebody"')
    folder = write(tmp_path / "r", [cell(1.0)])
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).symlink_to(secret)
    with pytest.raises(UserError, match=f"{name} is a link") as told:
        listed(folder)
    assert "somebody" not in str(told.value)


@pytest.mark.parametrize("changed_s", [2**40, -(2**40), 2**62])
def test_no_time_and_a_file_of_a_year_that_no_calendar_has(tmp_path: Path, changed_s: int) -> None:
    (place,) = find_results([write(tmp_path / "r", [cell(1.0)], created_at="")])
    of_the_file = read_listed(place).created_at
    assert of_the_file.year >= 2026
    found = read_listed(replace(place, stamp=((changed_s * 10**9, 1), *place.stamp[1:])))
    assert found.created_at.year == 1970


def test_different_units_have_no_common_mean(tmp_path: Path) -> None:
    assert listed(write(tmp_path / "r", [cell(1.0), cell(2.0, unit="IOPS")])).mean_text == ""


def test_a_summary_of_a_run_that_goes_on_is_of_before(tmp_path: Path) -> None:
    assert listed(write(tmp_path / "r", [cell(1.0)], status="running")).mean is None


@pytest.mark.parametrize("told", ["", "yesterday", "9999-99-99", "2026-01-02", "0001-01-01T00:00:00+23:00"])
def test_a_moment_that_is_none_is_that_of_the_file(tmp_path: Path, told: str) -> None:
    assert listed(write(tmp_path / "r", [cell(1.0)], created_at=told)).created_at.year > 2000


def test_a_title_of_a_megabyte(tmp_path: Path) -> None:
    assert len(listed(write(tmp_path / "r", [cell(1.0)], title="x" * 2**20)).title) == TITLE_MAX


@pytest.mark.parametrize("mean", ["NaN", "1e999", "-Infinity"])
def test_a_mean_that_is_no_number(tmp_path: Path, mean: str) -> None:
    folder = write(tmp_path / "r", [cell(7.0)])
    text = (folder / "summary.json").read_text().replace("7.0", mean)
    (folder / "summary.json").write_text(text)
    try:
        one = listed(folder)
    except UserError as error:
        assert "damaged" in str(error)
    else:
        assert "nan" not in one.mean_text.lower() and "inf" not in one.mean_text.lower()


def test_tags_are_the_users_and_hide_no_result(tmp_path: Path) -> None:
    folder = write(tmp_path / "r", [cell(1.0)])
    change_tags(folder, {"kernel": "6.12", "host": "db1"}, note="after the Upgrade")
    one = listed(folder)
    assert one.tag_texts == ["kernel=6.12", "host=db1"] and not one.tags_error
    assert all(word in one.words for word in ("kernel=6.12", "upgrade"))
    (folder / "tags.json").write_text('{"tags": 3}')
    one = listed(folder)
    assert one.mean == 1.0 and not one.tags and one.tags_error
