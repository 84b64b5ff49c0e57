"""A folder of several results: its index is read, or refused in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flatwater.errors import UserError
from flatwater.results import create_result, results_in
from flatwater.results.collection import INDEX
from flatwater.results.schema import SCHEMA_VERSION, Manifest


def test_each_experiment_has_its_result_or_was_not_begun(tmp_path: Path) -> None:
    manifest = Manifest(name="one", flatwater_version="1", status="running", created_at="", seed=1, cells=[])
    create_result(tmp_path / "one", manifest, "", {})
    index = {"experiments": ["one", "two"], "left_out": {"three": "it needs a server"}, "flatwater_version": "1"}
    (tmp_path / INDEX).write_text(json.dumps(index))
    found = results_in(tmp_path)
    assert [(name, result and result.name) for name, result in found.results()] == [("one", "one"), ("two", None)]
    assert (found.left_out, found.flatwater_version) == ({"three": "it needs a server"}, "1")


@pytest.mark.parametrize(
    ("index", "what"),
    [
        ({"experiments": ["../x"]}, "there is no list of experiments in it"),
        ({"experiments": [1]}, "there is no list of experiments in it"),
        ({"experiments": [], "left_out": []}, "there is no list of experiments in it"),
        ([], "there is no list of experiments in it"),
        ({"experiments": [], "schema_version": SCHEMA_VERSION + 1}, "is newer than this flatwater"),
    ],
    ids=str,
)
def test_a_damaged_or_newer_index_is_refused(tmp_path: Path, index: object, what: str) -> None:
    (tmp_path / INDEX).write_text(json.dumps(index))
    with pytest.raises(UserError, match=what):
        results_in(tmp_path)
