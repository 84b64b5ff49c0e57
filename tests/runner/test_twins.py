"""The machine of a twin, and the warning about one that is far off what was measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flatwater.errors import UserError
from flatwater.experiment import Experiment, iter_cells, make_experiment, to_toml
from flatwater.experiment.database import InnodbModel
from flatwater.experiment.database.login import Login
from flatwater.experiment.sweep import Sweep
from flatwater.results import CellSummary, create_result
from flatwater.results.facts import MachineFacts
from flatwater.results.schema import CellPlan, Manifest
from flatwater.runner import sweep, twins
from flatwater.runner.executors import make_executor
from flatwater.runner.executors.executor import is_real_cell
from flatwater.runner.progress import Reporter
from flatwater.runner.twins import warn_of_twins, with_measured_server, with_server_of
from flatwater.server import Attached, Binary, Local


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


def twin_of(of: Experiment) -> InnodbModel:
    twin = list(iter_cells(of))[1].experiment.database
    assert isinstance(twin, InnodbModel)
    return twin


def cores(of: Experiment) -> int:
    return twin_of(of).hardware.cores


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server that flatwater would start: a MySQL 5.7."""
    binary = Binary(Path("/usr/sbin/mysqld"), "mysql", (5, 7, 22), "5.7.22")
    monkeypatch.setattr(twins, "server_of", lambda experiment: binary)


@pytest.mark.parametrize(
    ("database", "url", "machine", "expected", "noted"),
    [
        ({}, None, {"cores": 6}, 6, False),
        ({"cores": 3}, None, {"cores": 6}, 3, False),
        ({}, "mysql:///run/m.sock?user=u", {"cores": 6, "workers": [{"cores": 8}]}, 8, False),
        ({}, "mysql://u@localhost/s", {"cores": 6, "workers": [{"cores": 8}]}, 16, True),
        ({}, None, {"cores": 6, "workers": [{"cores": 8}, {"cores": 8}]}, 8, False),
        ({}, None, {"cores": 6, "workers": [{"cores": 8}, {"cores": 4}]}, 16, True),
        ({}, None, {}, 16, True),
    ],
)
def test_its_cores_are_those_of_the_measured_machine(
    database: dict[str, Any], url: str | None, machine: MachineFacts, expected: int, noted: bool
) -> None:
    reporter = Noted()
    found = with_measured_server(experiment(database, url), machine, reporter)
    assert cores(found) == expected
    assert ["cores = N" in note for note in reporter.notes if "generation" not in note] == [True] * noted


@pytest.mark.parametrize(
    ("url", "local", "expected"),
    [
        ("mysql://u@localhost/s", Local(pid=5), 6),
        ("mysql:///run/m.sock?user=u", Local(pid=5), 6),
        # By its address in the network, as with [load].
        ("mysql://u@192.0.2.7/s", Local(pid=5), 6),
        # In a container: its files are not looked at, and its cores are this machine's.
        ("mysql://u@127.0.0.1/s", Local(pid=5, why_not="in a container"), 6),
        ("mysql://u@elsewhere.example/s", Local(why_not="the server runs on another machine"), 16),
        # A tunnel.
        ("mysql://u@127.0.0.1:3307/s", Local(why_not="no process of this machine is known to be the server"), 16),
        ("mysql://u@127.0.0.1/s", None, 16),
    ],
)
def test_a_server_is_here_if_its_process_is(
    monkeypatch: pytest.MonkeyPatch, url: str, local: Local | None, expected: int
) -> None:
    def described(login: Login) -> Attached:
        if local is None:
            raise UserError("nobody listens at 127.0.0.1:3306")
        return Attached("mysql", (8, 0, 36), "8.0.36", "", {})

    monkeypatch.setattr(twins, "describe", described)
    monkeypatch.setattr(twins, "find_local", lambda login, server: local)
    reporter = Noted()
    found = with_measured_server(experiment({}, url), {"cores": 6}, reporter)
    assert cores(found) == expected
    why = "nobody listens" if local is None else local.why_not
    assert [why in note for note in reporter.notes if "cores" in note] == [True] * (expected == 16)
    told = [note for note in reporter.notes if "generation" in note]
    assert (twin_of(found).generation, len(told)) == (("percona-5.5", 1) if local is None else ("mysql-8.0", 0))


def test_its_generation_is_the_servers() -> None:
    reporter = Noted()
    found = twin_of(with_measured_server(experiment({}), {"cores": 6}, reporter))
    assert (found.generation, reporter.notes) == ("mysql-5.7", [])
    asked = twin_of(with_measured_server(experiment({"generation": "mysql-5.6"}), {"cores": 6}, reporter))
    assert (asked.generation, reporter.notes) == ("mysql-5.6", [])


def test_the_server_of_another_machine_is_not_taken_for_the_one_of_this() -> None:
    reporter = Noted()
    machine: MachineFacts = {"cores": 6, "workers": [{"cores": 8}]}
    found = twin_of(with_measured_server(experiment({}), machine, reporter))
    assert (found.generation, found.hardware.cores) == ("percona-5.5", 8)
    assert ["started on other machines" in note for note in reporter.notes] == [True]


def test_a_server_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Login] = []

    def described(login: Login) -> Attached:
        asked.append(login)
        return Attached("mysql", (8, 0, 36), "8.0.36", "", {})

    monkeypatch.setattr(twins, "describe", described)
    monkeypatch.setattr(twins, "find_local", lambda login, server: Local(pid=5))
    url = "mysql://u@localhost/s"
    assert twin_of(with_measured_server(experiment({}, url), {"cores": 6}, Noted())).generation == "mysql-8.0"
    assert len(asked) == 1
    with_measured_server(experiment({"cores": 2, "generation": "mysql-5.6"}, url), {"cores": 6}, Noted())
    assert len(asked) == 1, "the user has said all"


def test_which_server_is_not_known_when_cells_have_several() -> None:
    reporter = Noted()
    sweep = Sweep(grid={"database.binary": ["mysqld", "mariadbd"]})
    several = experiment({}).model_copy(update={"sweep": sweep})
    found = with_measured_server(several, {"cores": 6}, reporter)
    assert found.twin is not None and "generation" not in found.twin.database
    (note,) = reporter.notes
    assert "cells have different servers" in note and 'generation = "..."' in note


def test_a_resumed_run_has_the_same_twin() -> None:
    import tomllib

    first = with_measured_server(experiment({}), {"cores": 6}, Noted())
    stored = tomllib.loads(to_toml(first))
    assert to_toml(with_server_of(experiment({}), stored)) == to_toml(first)
    assert cores(with_server_of(experiment({"cores": 2}), stored)) == 2
    assert twin_of(with_server_of(experiment({"generation": "mysql-8.0"}), stored)).generation == "mysql-8.0"


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


def test_cells_are_those_that_the_result_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is found out of the server after the executor was opened reaches the cells, not only `experiment.toml`."""

    def with_more_in_flight(of: Experiment, *_: object) -> Experiment:
        return of.model_copy(update={"workload": of.workload.model_copy(update={"queue_depth": 3})})

    monkeypatch.setattr(sweep, "with_measured_server", with_more_in_flight)
    storage = {"kind": "memory", "device": "violin-memory-appliance", "size": "64MiB"}
    asked = make_experiment({"workload": {"mode": "rndrd", "duration_s": 1.0}, "storage": storage})
    for jobs in (1, 2):
        out = tmp_path / str(jobs)
        executor = make_executor("local", jobs)
        ran = sweep.run_experiment(asked, out, Noted(), lambda *_: None, executor=executor).result
        (cell,) = ran.cells
        in_flight = cell.series("workload", "in_flight").value.mean()
        assert "queue_depth = 3" in (out / "experiment.toml").read_text() and in_flight == pytest.approx(3, abs=0.1)


def test_only_the_measured_cell_is_real() -> None:
    assert [is_real_cell(experiment({}), number) for number in range(2)] == [True, False]
