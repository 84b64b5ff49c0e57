"""Every figure of every modelled device says where it comes from.

.venv/bin/python tests/devices/test_sources.py      prints how many figures of each device are how well known
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from flatwater.experiment.device.files import device_files, read_tables, unsourced
from flatwater.experiment.device.load import load_device

DEVICES = sorted(device_files())
#: How well a figure is known, best first, as its source says in these words.
STANDINGS = ("documented", "fitted", "remembered", "assumed")


@pytest.mark.parametrize("name", DEVICES)
def test_every_figure_has_a_source(name: str) -> None:
    assert unsourced(device_files()[name]) == []


def figures(table: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from figures(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"


def standing(source: str) -> str:
    """One of STANDINGS: what a source says of how well its figure is known."""
    if source.startswith("fitted: "):
        return "fitted"
    if source.startswith(("assumed: ", "our choice")):
        return "assumed"
    return "remembered" if "not at hand" in source else "documented"


def standings(name: str) -> Counter[str]:
    """How many figures of a device's own file have each standing: the most specific source of a figure counts."""
    sources = read_tables(device_files()[name])["sources"]
    own = tomllib.loads(device_files()[name].read_text())
    counts: Counter[str] = Counter()
    for field in figures({key: value for key, value in own.items() if key != "sources"}):
        if field not in ("kind", "title", "about", "base"):
            path = field
            while path not in sources:
                path = path.rpartition(".")[0]
            counts[standing(sources[path])] += 1
    return counts


@pytest.mark.parametrize("name", DEVICES)
def test_a_remembered_figure_is_not_taken_for_a_documented_one(name: str) -> None:
    """Who wrote "as remembered" must say that the document was not at hand: that is what is counted."""
    for field, source in tomllib.loads(device_files()[name].read_text())["sources"].items():
        if "remembered" in source:
            assert "not at hand" in source, f"{name}: {field}"


@pytest.mark.parametrize("name", DEVICES)
def test_a_device_says_what_is_fitted(name: str) -> None:
    about = load_device(name).about
    assert "itted" in about, about
    if not standings(name)["fitted"]:
        # A device of modules takes over what is fitted from its base.
        own = tomllib.loads(device_files()[name].read_text())
        assert "othing" in about or "base" in own, about


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


if __name__ == "__main__":
    total: Counter[str] = Counter()
    print("device".ljust(32), *(one.rjust(10) for one in STANDINGS))
    for device in DEVICES:
        found = standings(device)
        total += found
        print(device.ljust(32), *(str(found[one]).rjust(10) for one in STANDINGS))
    print("all".ljust(32), *(str(total[one]).rjust(10) for one in STANDINGS))
