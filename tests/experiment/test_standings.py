"""The standings of the library's published figures, against what the files of devices and machines say was fitted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import pytest

from flatwater.experiment import Experiment, LibraryEntry, library, load
from flatwater.experiment.cells import iter_cells
from flatwater.experiment.database.machine import load_machine
from flatwater.experiment.device.files import device_files, read_tables
from flatwater.experiment.fields import get_value
from flatwater.experiment.lookup import positions_of, published_cells
from flatwater.experiment.published import WITHIN, WITHIN_ABOUT, PublishedFigure
from flatwater.results.agreement import PREDICTED

ENTRIES = [entry for entry in library() if load(entry.path).published]
MODELLED = [entry for entry in ENTRIES if set(entry.layers.values()) <= {"modelled", "none"}]
ABOUT = re.compile(r"\b(about|roughly)\b")
#: A figure below this stands in a source for something else: threads, bits, shares.
LEAST = 50


@dataclass(frozen=True)
class Fitted:
    """A figure of a device or a machine whose source says to what it was fitted."""

    name: str
    source: str

    @property
    def numbers(self) -> set[float]:
        found = (float(one.replace(",", "")) for one in re.findall(r"\d[\d,]*\d(?:\.\d+)?|\d", self.source))
        return {number for number in found if number >= LEAST}


@cache
def fitted_of_device(device: str) -> list[Fitted]:
    sources = read_tables(device_files()[device])["sources"]
    told = [(name, source) for name, source in sources.items() if re.match(r"fitted: |published measurement", source)]
    return [Fitted(f"device.{name}", source) for name, source in told]


@cache
def fitted_of_machine(machine: str) -> list[Fitted]:
    sources = load_machine(machine).sources
    told = [(name, source) for name, source in sources.items() if re.search("itted|published", source)]
    return [Fitted(f"machine.{name}", source) for name, source in told]


def values_of(experiment: Experiment, position: int, field: str) -> object:
    swept = experiment.sweep.values_at(position)
    return swept[field] if field in swept else get_value(experiment, field)


def fitted_below(experiment: Experiment, position: int) -> list[Fitted]:
    """What was fitted of the devices and the machine that a cell stands on."""
    found = []
    if device := values_of(experiment, position, "storage.device"):
        found += fitted_of_device(str(device))
    if machine := getattr(experiment.database, "machine", None):
        found += fitted_of_machine(str(machine))
    return found


def is_fitted_to(one: Fitted, experiment: Experiment, row: PublishedFigure, position: int) -> bool:
    """Whether a source names this row: by its figure, as a p95 with its threads, as its table or as its letter."""
    if row.relative_to is not None:
        return False
    if row.value in one.numbers and not row.metric.endswith(".max"):
        return True
    if row.metric == "latency_us.p95" and (
        told := re.search(r"p95 of (read|write)s at ([\d, and]+) threads", one.source)
    ):
        mode = {"read": "rndrd", "write": "rndwr"}[told[1]]
        threads = values_of(experiment, position, "workload.threads")
        same_mode = values_of(experiment, position, "workload.mode") == mode
        return same_mode and str(threads) in re.findall(r"\d+", told[2])
    if "fill-level table" in one.source:
        return any(field == "storage.fill" for field in row.set)
    if (told := re.search(r"rows ([a-l, and]+) of the search for a flat line", one.source)) and row.metric == "mean":
        letter = re.match(r"row ([a-l]),", row.source)
        return letter is not None and letter[1] in re.findall(r"\b[a-l]\b", told[1])
    return False


def rows_below(experiment: Experiment) -> Iterator[tuple[PublishedFigure, list[Fitted]]]:
    """Each row, and what was fitted to it according to the files that its cells stand on."""
    for row in experiment.published:
        found = {
            one
            for position in positions_of(experiment, row.set)
            for one in fitted_below(experiment, position)
            if is_fitted_to(one, experiment, row, position)
        }
        yield row, sorted(found, key=lambda one: one.name)


def names_in(by: str) -> list[str]:
    return by.split(", ")


def names_it(by: str, one: Fitted) -> bool:
    """Whether a reason names a figure, or the table that the figure stands in."""
    return any(one.name == name or one.name.startswith(f"{name}.") for name in names_in(by))


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_a_figure_agrees_within_15_percent_or_25_where_it_is_about(entry: LibraryEntry) -> None:
    for row in load(entry.path).published:
        if row.metric == "cv_pct":
            # How much the seconds of a run differ is asked for within a factor of 1.5.
            assert (row.within, row.about) == (0.5, False), row.source
            continue
        assert row.within is None, f"{row.source}: the library has two limits, and no third"
        assert row.about == bool(ABOUT.search(row.source)), row.source
        assert row.tolerance == (WITHIN_ABOUT if row.about else WITHIN)
    assert (WITHIN, WITHIN_ABOUT) == (0.15, 0.25)


@pytest.mark.parametrize("entry", MODELLED, ids=lambda entry: entry.name)
def test_what_a_device_or_a_machine_was_fitted_to_is_no_prediction(entry: LibraryEntry) -> None:
    for row, fitted in rows_below(load(entry.path)):
        if fitted:
            names = [one.name for one in fitted]
            assert row.standing != PREDICTED, f"{row.source}: {names} were fitted to it"
            if row.standing == "fitted":
                assert any(names_it(row.by or "", one) for one in fitted), f"{row.source}: by one of {names}"


@pytest.mark.parametrize("entry", MODELLED, ids=lambda entry: entry.name)
def test_a_fitted_figure_names_what_was_fitted(entry: LibraryEntry) -> None:
    experiment = load(entry.path)
    for row in experiment.published:
        if row.standing != "fitted":
            continue
        for name in names_in(row.by or ""):
            if not name.startswith(("device.", "machine.")):
                # A figure of the experiment itself: its comment says so.
                assert get_value(experiment, name) is not None or name in experiment.sweep.fields
                assert re.search(r"fitted once", entry.path.read_text()), name
                continue
            below = [
                one for position in positions_of(experiment, row.set) for one in fitted_below(experiment, position)
            ]
            assert any(names_it(name, one) for one in below), f"{row.source}: no file says that {name} is fitted"


@pytest.mark.parametrize("entry", MODELLED, ids=lambda entry: entry.name)
def test_what_follows_from_fitted_figures_is_no_prediction(entry: LibraryEntry) -> None:
    experiment = load(entry.path)
    fitted = {
        (position, row.metric)
        for row in experiment.published
        if row.standing == "fitted"
        for position in positions_of(experiment, row.set)
    }
    for row in experiment.published:
        mine = {(position, row.metric) for position in positions_of(experiment, row.set)}
        base = {(position, row.metric) for position in positions_of(experiment, row.relative_to or {})}
        is_ratio = row.relative_to is not None
        if mine <= fitted and (base <= fitted or not is_ratio):
            assert row.standing != PREDICTED, row.source
    for one in experiment.expected:
        if one.order == "published":
            cells = {(position, one.metric) for position in published_cells(experiment, one)}
            assert (one.standing == PREDICTED) == (not cells & fitted), one.source


@pytest.mark.parametrize("entry", [one for one in ENTRIES if one not in MODELLED], ids=lambda entry: entry.name)
def test_nothing_of_a_real_run_is_fitted(entry: LibraryEntry) -> None:
    assert {row.standing for row in load(entry.path).published} <= {PREDICTED}


def test_the_rule_sees_the_fits_that_are_known() -> None:
    """How many rows the sources name: a wording that is no longer understood would hide some."""
    named = {entry.name: sum(bool(fitted) for _, fitted in rows_below(load(entry.path))) for entry in MODELLED}
    assert named["stability"] == 4
    assert named["fill-level-duo-320"] == named["fill-level-tachion-400"] - 1 == 8
    assert named["array-perc5"] >= 10
    assert named["lookups-appliance"] == 2
    assert named["card-threads-reads"] >= 8
    assert sum(len(list(iter_cells(load(entry.path)))) for entry in MODELLED) > 100
