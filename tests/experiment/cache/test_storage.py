"""`[cache.storage]`: any storage, its faults told where they stand."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from caches import write

from flatwater.errors import UserError
from flatwater.experiment import FileStorage, InvalidExperimentError, load
from flatwater.experiment.storage.modelled import SsdStorage


def told(path: Path) -> list[str]:
    with pytest.raises(UserError) as caught:
        load(path)
    assert isinstance(caught.value, InvalidExperimentError)
    return [str(problem) for problem in caught.value.problems]


def test_any_kind(tmp_path: Path) -> None:
    storage: dict[str, Any] = {"kind": "ssd", "device": "intel-x25-e", "initial": "fresh"}
    assert isinstance(load(write(tmp_path, {"storage": storage})).cache.storage, SsdStorage)  # type: ignore[union-attr]
    path = write(tmp_path, {"storage": {"path": "/x"}, "size": "1GiB"}, storage={"path": "/y", "size": "2GiB"})
    assert isinstance(load(path).cache.storage, FileStorage)  # type: ignore[union-attr]


def test_a_template_may_leave_it_open(tmp_path: Path) -> None:
    path = tmp_path / "template.toml"
    path.write_text('[workload]\nmode = "rndrd"\n[cache]\nkind = "flash"\n[storage]\nkind = "hdd"\n')
    assert load(path).cache.storage is None  # type: ignore[union-attr]


def test_faults_stand_at_the_caches_own_fields(tmp_path: Path) -> None:
    storage = {"kind": "ssd", "device": "intel-x25-e", "parameters": {"timing": {"read_us": -1}}, "life_used_pct": 101}
    lines = told(write(tmp_path, {"storage": storage}))
    assert any("cache.storage.life_used_pct: must be less than 100" in line for line in lines)
    del storage["life_used_pct"]
    lines = told(write(tmp_path, {"storage": storage}))
    assert any("cache.storage.parameters.timing.read_us" in line for line in lines), lines


@pytest.mark.parametrize("storage", [3, "ssd", [1]])
def test_no_table(tmp_path: Path, storage: Any) -> None:
    assert "cache.storage: must be a table" in told(write(tmp_path, {"storage": storage}))[0]
