"""Every field of fileio and of its files on several hosts: it works there, or one line says why not.

The tables are complete: a new field fails here until it is decided. What is said to work is run in
tests/runner/hosts/test_fileio_fields.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tomli_w
from fileiohosts import BASE, REFUSED, STORAGE, WORKLOAD, WORKS

from flatwater.errors import UserError
from flatwater.experiment import load
from flatwater.experiment.storage import FileStorage
from flatwater.experiment.workload import Fileio


def write(folder: Path, fields: dict[str, Any], hosts: int = 2) -> Path:
    content: dict[str, Any] = {layer: dict(own) for layer, own in BASE.items()} | {"load": {"hosts": hosts}}
    for field, value in fields.items():
        layer, _, name = field.partition(".")
        content.setdefault(layer, {})[name] = value
    path = folder / "hosts.toml"
    path.write_text(tomli_w.dumps(content))
    return path


def test_no_field_is_forgotten() -> None:
    assert {name for name in Fileio.model_fields if name != "kind"} == WORKLOAD
    assert {name for name in FileStorage.model_fields if name != "kind"} == STORAGE


@pytest.mark.parametrize("fields", WORKS, ids=str)
def test_it_works(fields: dict[str, Any], tmp_path: Path) -> None:
    experiment = load(write(tmp_path, fields))
    assert experiment.load is not None and experiment.load.hosts == 2


@pytest.mark.parametrize(("fields", "why"), REFUSED, ids=str)
def test_it_is_refused_with_the_reason(fields: dict[str, Any], why: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        load(write(tmp_path, fields))
    assert why in str(caught.value) and "load.hosts" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("fields", "why"), REFUSED, ids=str)
def test_without_hosts_the_same_is_allowed(fields: dict[str, Any], why: str, tmp_path: Path) -> None:
    """It is the hosts that make it impossible."""
    path = write(tmp_path, fields)
    path.write_text(path.read_text().replace("[load]\nhosts = 2\n", ""))
    load(path)
