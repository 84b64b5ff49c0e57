from __future__ import annotations

from pathlib import Path

import pytest

from flatwater.errors import UserError
from flatwater.experiment import Experiment, InvalidExperimentError, load
from flatwater.experiment.database import InnodbModel
from flatwater.experiment.database.machine import Machine, load_machine, machine_files
from flatwater.experiment.database.measured import default_workload
from flatwater.plan.innodb import write_cpu

FILE = """\
workload = {{ kind = "tpcc", warehouses = 1 }}
storage = {{ kind = "memory", device = "violin-memory-appliance" }}
[database]
kind = "innodb-model"
{database}
"""


def loaded(folder: Path, database: str, *overrides: str) -> InnodbModel:
    path = folder / "one.toml"
    path.write_text(FILE.format(database=database))
    experiment: Experiment = load(path, list(overrides))
    assert isinstance(experiment.database, InnodbModel)
    return experiment.database


@pytest.mark.parametrize("name", sorted(machine_files()))
def test_every_machine_is_sourced(name: str) -> None:
    machine = load_machine(name)
    assert machine.title
    assert machine.sources.keys() >= {"cores", "cpu_scale"}
    assert machine.threads is not None and machine.threads >= machine.cores


def test_cores_and_costs_are_the_machines(tmp_path: Path) -> None:
    machine = load_machine("dell-r900")
    database = loaded(tmp_path, 'machine = "dell-r900"')
    assert database.hardware == machine
    measured = default_workload("tpcc", "percona-5.5").cpu_us
    plain, own = (write_cpu(database.cpu, measured, hardware) for hardware in (Machine(title="", cores=1), machine))
    assert own.statement_ns == pytest.approx(plain.statement_ns * machine.cpu_scale, abs=2)
    assert {getattr(plain, f"{name}_ns") for name in ("mutex", "read_mutex", "round_trip", "fsync", "sync_page")} == {0}
    # Mutexes are held by a core of the machine; a sync and the client are not its cores' work.
    assert own.read_mutex_ns == round(1000 * machine.read_mutex_us * machine.cpu_scale) > 0
    for name in ("fsync", "sync_page", "round_trip"):
        assert getattr(own, f"{name}_ns") == 1000 * getattr(machine, f"{name}_us") > 0
    written = loaded(tmp_path, 'machine = "dell-r900"\ncpu = { read_mutex_us = 0, fsync_us = 7 }')
    told = write_cpu(written.cpu, measured, machine)
    assert (told.read_mutex_ns, told.fsync_ns) == (0, 7000)


def test_a_mutex_of_a_machine_is_held_by_its_cores() -> None:
    machine = load_machine("xeon-2008")
    own = write_cpu(InnodbModel().cpu, default_workload("oltp", "mysql-5.1").cpu_us, machine)
    assert own.mutex_ns == round(1000 * machine.mutex_us * machine.cpu_scale) > 0


def test_what_the_experiment_says_wins(tmp_path: Path) -> None:
    hardware = loaded(tmp_path, 'machine = "sun-t2000"\ncores = 4\ncpu = { times = 3 }').hardware
    assert (hardware.cores, hardware.cpu_scale) == (4, 3)
    assert loaded(tmp_path, "").hardware.cores == 16
    # A sweep, or an override, changes machine and cores together.
    assert loaded(tmp_path, 'machine = "sun-t2000"', "database.machine=amd-48-cores").hardware.cores == 48


def test_threads_are_worth_what_the_machine_says(tmp_path: Path) -> None:
    sun = load_machine("sun-256-threads")
    assert sun.cores < sun.at_once < (sun.threads or 0)
    assert load_machine("cisco-ucs-c250").at_once == load_machine("cisco-ucs-c250").cores
    assert loaded(tmp_path, 'machine = "sun-256-threads"\ncores = 4').hardware.at_once == 4


def test_unknown_machines_name_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(InvalidExperimentError) as caught:
        loaded(tmp_path, 'machine = "del-r900"')
    [problem] = caught.value.problems
    assert "database.machine: there is no machine" in str(problem)
    assert problem.hint is not None and problem.hint.startswith("did you mean dell-r900?")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('title = "x"\ncores = 0', "cores"),
        ('title = "x"\ncores = 4\nthreads = 2', "threads must be at least as many as cores"),
        ('title = "x"\ncores = 4\ncpu = 3', "cpu"),
        (
            'title = "x"\ncores = 4\nthreads = 8\nthreads_worth = 9',
            "threads_worth must be from cores to threads (4 to 8)",
        ),
        ("title = ", ""),
    ],
)
def test_a_file_that_is_no_machine_is_one_line(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(UserError, match="is no machine") as caught:
        load_machine(str(path))
    assert why in str(caught.value) and "\n" not in str(caught.value)
    path.unlink()
    with pytest.raises(UserError, match="is no machine"):
        load_machine(f"{path}")
