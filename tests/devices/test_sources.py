"""Every figure of every modelled device says where it comes from."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from flatwater.experiment.device.load import device_files, load_device, read_tables, unsourced

DEVICES = sorted(device_files())


@pytest.mark.parametrize("name", DEVICES)
def test_every_figure_has_a_source(name: str) -> None:
    assert unsourced(device_files()[name]) == []


def figures(table: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from figures(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"


@pytest.mark.parametrize("name", DEVICES)
def test_every_source_is_of_a_figure(name: str) -> None:
    known = list(figures(read_tables(device_files()[name])))
    for field, source in tomllib.loads(device_files()[name].read_text())["sources"].items():
        assert any(f"{one}.".startswith(f"{field}.") for one in known), f"{name}: nothing is called {field}"
        assert source.strip(), f"{name}: {field}"


@pytest.mark.parametrize("name", DEVICES)
def test_a_fitted_figure_says_to_what(name: str) -> None:
    tables = read_tables(device_files()[name])
    for field, source in tables["sources"].items():
        if source.startswith("fitted"):
            assert source.startswith("fitted: "), f"{name}: {field}"
        if source.startswith("assumed"):
            assert source.startswith("assumed: "), f"{name}: {field}"


@pytest.mark.parametrize("name", DEVICES)
def test_it_can_be_used(name: str) -> None:
    assert load_device(name).title
