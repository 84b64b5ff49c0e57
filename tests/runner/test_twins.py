"""The machine of a twin, and the warning about one that is far off what was measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flatwater.experiment import Experiment, iter_cells, make_experiment, to_toml
from flatwater.experiment.database import InnodbModel
from flatwater.results import CellSummary, create_result
from flatwater.results.facts import MachineFacts
from flatwater.results.schema import CellPlan, Manifest
from flatwater.runner.progress import Reporter
from flatwater.runner.twins import warn_of_twins, with_cores_of, with_measured_cores


class Noted(Reporter):
    """Keeps the notes."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


def experiment(database: dict[str, Any], url: str | None = None) -> Experiment:
    server = {"kind": "server"} if url is None else {"kind": "server", "url": url}
    return make_experiment(
        {
            "workload": {"kind": "tpcc", "warehouses": 2},
            "database": server,
            "storage": {"path": "/tmp/somewhere"} if url is None else {},
            "twin": {"database": database, "storage": {"kind": "ssd", "device": "samsung-pm9a3-7680-tlc"}},
        }
    )


def cores(of: Experiment) -> int:
    twin = list(iter_cells(of))[1].experiment.database
    assert isinstance(twin, InnodbModel)
    return twin.hardware.cores


@pytest.mark.parametrize(
    ("database", "url", "machine", "expected", "noted"),
    [
        ({}, None, {"cores": 6}, 6, False),
        ({}, "mysql://u@localhost/s", {"cores": 6}, 6, False),
        ({}, "mysql:///run/m.sock?user=u", {"cores": 6}, 6, False),
        ({"cores": 3}, None, {"cores": 6}, 3, False),
        ({}, "mysql://u@elsewhere.example/s", {"cores": 6}, 16, True),
        ({}, None, {"cores": 6, "workers": [{"cores": 8}, {"cores": 8}]}, 8, False),
        ({}, None, {"cores": 6, "workers": [{"cores": 8}, {"cores": 4}]}, 16, True),
        ({}, None, {}, 16, True),
    ],
)
def test_its_cores_are_those_of_the_measured_machine(
    database: dict[str, Any], url: str | None, machine: MachineFacts, expected: int, noted: bool
) -> None:
    reporter = Noted()
    found = with_measured_cores(experiment(database, url), machine, reporter)
    assert cores(found) == expected
    assert [("cores = N" in note) for note in reporter.notes] == [True] * noted


def test_a_resumed_run_has_the_same_twin() -> None:
    import tomllib

    first = with_measured_cores(experiment({}), {"cores": 6}, Noted())
    stored = tomllib.loads(to_toml(first))
    assert to_toml(with_cores_of(experiment({}), stored)) == to_toml(first)
    assert cores(with_cores_of(experiment({"cores": 2}), stored)) == 2


@pytest.mark.parametrize(("twin", "warned"), [(100.0, False), (200.0, False), (201.0, True), (49.0, True)])
def test_a_twin_that_is_far_off_has_a_warning(tmp_path: Path, twin: float, warned: bool) -> None:
    asked = experiment({})
    plans = [CellPlan(index=cell.index, repeat=0, set=cell.set, seed=1) for cell in iter_cells(asked)]
    manifest = Manifest(name="x", flatwater_version="1", status="running", created_at="", seed=1, cells=plans)
    result = create_result(tmp_path / "out", manifest, to_toml(asked), {})
    for cell, mean in zip(result.cells, (100.0, twin), strict=True):
        cell.folder.mkdir()
        cell.journal.touch()
        cell.finish(CellSummary(cell=cell.index, seed=1, set=cell.set, status="complete", unit="NOTPM", mean=mean))
    reporter = Noted()
    warn_of_twins(asked, result, reporter)
    warn_of_twins(asked, result, reporter)
    real, modelled = (cell.stored_summary().warnings for cell in result.cells)
    assert (len(real), len(modelled), len(reporter.notes)) == (0, warned, warned)
    assert all("before anything is fitted" in text for text in modelled)
