"""What is known of a run before it begins; how the command line prints it is in tests/cli/test_check.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from flatwater.errors import UserError
from flatwater.experiment import InvalidExperimentError
from flatwater.runner.check import check


def test_what_is_known_of_a_real_run(tmp_path: Path) -> None:
    checked = check("quick", [f"storage.path={tmp_path}", "workload.duration_s=2"])
    assert (checked.cells, checked.real_s) == (3, checked.seconds)
    assert checked.cells_text.startswith("3 cells, about ") and not checked.modelled_text and not checked.device
    assert checked.shortfall is not None and "no cell can get a verdict" in checked.shortfall.text


def test_what_is_known_of_a_modelled_run() -> None:
    checked = check("fill-level-tachion-400", [])
    assert "of virtual time (computed in about " in checked.cells_text
    assert checked.modelled_text.startswith("modelled: workload, storage; ")


def test_a_template_is_checked_without_its_place_unless_it_is_to_run() -> None:
    assert check("quick", []).cells == 3
    with pytest.raises(UserError, match=r"storage\.path is missing"):
        check("quick", [], complete=True)


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(InvalidExperimentError) as raised:
        check("quick", ["workload.threads=-1", "workload.nosuch=3"])
    assert {one.where for one in raised.value.problems} == {"--set workload.threads=-1", "--set workload.nosuch=3"}
