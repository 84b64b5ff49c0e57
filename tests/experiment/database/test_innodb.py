"""The modelled InnoDB of an experiment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import ValidationError

from flatwater.experiment import Experiment, make_experiment
from flatwater.experiment.database import InnodbModel
from flatwater.experiment.database.innodb_settings import has
from flatwater.experiment.database.lineage import GENERATIONS
from flatwater.experiment.database.machine import Machine
from flatwater.experiment.database.measured import default_workload, load_workload
from flatwater.experiment.database.placement import Holding
from flatwater.experiment.kinds import ANY
from flatwater.experiment.layers import read_layer
from flatwater.experiment.problem import Problem, ProblemsError
from flatwater.plan.innodb import write_cpu, write_measured

STORAGE = {"kind": "raid", "device": "raid10-8"}
MODEL = {"kind": "innodb-model"}


def experiment(workload: dict[str, Any] | None = None, storage: dict[str, Any] = STORAGE, **rest: Any) -> Experiment:
    asked = {"kind": "tpcc", "warehouses": 10} if workload is None else workload
    return make_experiment({"workload": asked, "database": MODEL, "storage": storage} | rest)


def problems_of(**fields: Any) -> Sequence[Problem]:
    """What is wrong with a modelled server by itself."""
    return read_layer("database", MODEL | fields, ANY).problems


def test_a_modelled_server_stands_on_modelled_storage() -> None:
    cell = experiment()
    assert isinstance(cell.database, InnodbModel)
    assert cell.in_virtual_time
    assert cell.layers == {"workload": "modelled", "database": "modelled", "cache": "none", "storage": "modelled"}


PLAIN = Machine(title="", cores=16)


def test_costs_are_the_measured_ones_in_nanoseconds() -> None:
    measured = default_workload("tpcc", "mysql-8.0").cpu_us
    statement_us, read_us = measured.statement.value, measured.page_read.value
    assert statement_us > 0
    told = write_cpu(InnodbModel.model_validate(MODEL).cpu, measured, PLAIN)
    assert (told.statement_ns, told.read_ns) == (round(1000 * statement_us), round(1000 * read_us))
    cpu = InnodbModel.model_validate(MODEL | {"cpu": {"read_us": 1.5, "times": 2.0}}).cpu
    slower = write_cpu(cpu, measured, PLAIN)
    assert (slower.statement_ns, slower.read_ns) == (round(2000 * statement_us), 1500)


@pytest.mark.parametrize("kind", ["tpcc", "oltp"])
@pytest.mark.parametrize("generation", GENERATIONS)
def test_a_server_takes_what_was_measured_of_its_like(kind: str, generation: str) -> None:
    model = InnodbModel.model_validate(MODEL | {"generation": generation})
    measured = default_workload(kind, generation)
    assert model.measured(kind) == measured
    told = write_measured(model.measured(kind), model.generation)
    # The redo of a nearest server is another's where the format is another.
    own = measured.redo_bytes if measured.tells_redo_of(generation) else {}
    assert told.redo_bytes == {name: figure.value for name, figure in own.items()}
    assert told.redo_bytes or measured.generation != generation
    assert write_measured(model.measured(kind), model.generation).rows_a_page == measured.rows_a_page() != {}


@pytest.mark.parametrize(("generation", "named"), [("mysql-5.5", "mariadb-10.11"), ("mariadb-10.11", "mysql-5.5")])
def test_a_named_workload_is_taken_as_it_was_measured(generation: str, named: str) -> None:
    # Its pages' checksums too; its redo has another format.
    model = InnodbModel.model_validate(MODEL | {"generation": generation, "workload": f"tpcc-{named}"})
    costs = load_workload(f"tpcc-{named}").cpu_us
    told = write_cpu(model.cpu, model.measured("tpcc").cpu_us, PLAIN)
    assert told.read_ns == round(1000 * costs.page_read.value)
    assert told.write_ns == round(1000 * costs.page_written.value)
    assert write_measured(model.measured("tpcc"), model.generation).redo_bytes == {}


def test_a_measured_workload_is_of_the_workloads_kind() -> None:
    with pytest.raises(ProblemsError, match="is of oltp, and the workload is tpcc"):
        experiment(database=MODEL | {"workload": "oltp-mariadb-10.11"})
    with pytest.raises(ValidationError, match="there is no measured workload"):
        InnodbModel.model_validate(MODEL | {"workload": "tpcc-mariadb"})


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"workload": {"kind": "tpcc", "reconnect_every": 1}}, "workload.reconnect_every"),
        ({"workload": {"kind": "tpcc", "rate_per_s": 10}}, "workload.rate_per_s"),
        ({"workload": {"kind": "oltp", "mode": "insert"}}, "workload.mode"),
        ({"storage": {"kind": "raid", "device": "raid10-8", "size": "1G"}}, "storage.size"),
        ({"storage": {"kind": "file", "path": "/tmp"}}, "storage.kind"),
        ({"workload": {"kind": "fileio", "mode": "rndrd"}}, "database.kind"),
    ],
)
def test_what_is_not_modelled_is_named(asked: dict[str, Any], field: str) -> None:
    with pytest.raises(ProblemsError) as caught:
        experiment(**asked)
    assert field in {problem.field for problem in caught.value.problems}


def test_a_setting_belongs_to_its_generation() -> None:
    settings = {"innodb_adaptive_flushing_method": "keep_average"}
    assert InnodbModel.model_validate(MODEL | {"settings": settings}).resolved.innodb_doublewrite is True
    (problem,) = problems_of(generation="mysql-5.5", settings=settings)
    assert "no setting of mysql-5.5" in problem.what


def test_settings_without_effect_are_told() -> None:
    settings = {"innodb_read_io_threads": 1, "innodb_flush_method": "O_DIRECT"}
    model = InnodbModel.model_validate(MODEL | {"settings": settings})
    assert model.ignored == ["innodb_read_io_threads"]
    assert not hasattr(model.resolved, "innodb_read_io_threads")
    model = InnodbModel.model_validate(MODEL | {"settings": {"innodb_flush_method": "fsync"}})
    assert model.ignored == ["innodb_flush_method"], "data files never go through the kernel's cache in the model"


@pytest.mark.parametrize("generation", [one for one in GENERATIONS if has(one, "innodb_purge_batch_size")])
def test_purge_is_modelled_of_mariadb_only(generation: str) -> None:
    settings = {"innodb_purge_threads": 1, "innodb_purge_batch_size": 5}
    model = InnodbModel.model_validate({**MODEL, "generation": generation, "settings": settings})
    assert model.ignored == ([] if generation.startswith("mariadb") else list(settings))
    assert (model.resolved.innodb_purge_threads, model.resolved.innodb_purge_batch_size) == (1, 5)


def test_the_log_may_go_past_the_kernels_cache() -> None:
    def direct(**written: Any) -> bool:
        return InnodbModel.model_validate(MODEL | written).log_is_direct

    assert not direct()
    assert direct(settings={"innodb_flush_method": "ALL_O_DIRECT"})
    assert direct(generation="mariadb-10.11")
    assert not direct(generation="mariadb-10.11", settings={"innodb_flush_log_at_trx_commit": 2})
    (problem,) = problems_of(generation="mysql-5.5", settings={"innodb_flush_method": "ALL_O_DIRECT"})
    assert "not known to mysql-5.5" in problem.what


def test_what_the_pool_leaves_of_memory_is_the_kernels() -> None:
    def kept(**written: Any) -> int | None:
        settings = {"settings": {"innodb_buffer_pool_size": "1G"}}
        return InnodbModel.model_validate(MODEL | settings | written).page_cache_bytes

    assert (kept(), kept(memory="3G"), kept(memory="512M")) == (None, 2 << 30, 0)


def test_parts_that_name_the_same_device_share_it() -> None:
    model = InnodbModel.model_validate(
        MODEL
        | {
            "log_device": "raid10-8",
            "doublewrite_device": "none",
            "binlog_device": "raid10-8",
            "tables": {"stock": "intel-520", "item": "none", "customer": "raid10-8"},
        }
    )
    assert model.other_devices == {
        "raid10-8": Holding(("log", "binlog"), ("customer",)),
        "intel-520": Holding(tables=("stock",)),
    }


def test_devices_of_parts_are_those_that_there_are() -> None:
    told = {one.field: one.what for one in problems_of(binlog_device="raid10-9", tables={"stock": "nothing"})}
    assert set(told) == {"database.binlog_device", "database.tables.stock"}
    assert "there is no device" in told["database.tables.stock"]


@pytest.mark.parametrize(
    ("generation", "name", "hint"),
    [
        ("mysql-5.5", "innodb_io_capacity_max", "mysql-5.6"),
        ("mysql-5.6", "innodb_flush_sync", "mysql-5.7"),
        ("mysql-5.6", "innodb_page_cleaners", "mysql-5.7"),
        ("mysql-5.7", "innodb_redo_log_capacity", "mysql-8.0"),
        ("mysql-8.0", "innodb_flush_neighbor_pages", "percona-5.5"),
        ("mariadb-10.11", "innodb_log_files_in_group", "mysql-5.1"),
        ("mariadb-10.11", "innodb_thread_concurrency", "mysql-5.1"),
    ],
)
def test_a_setting_that_came_later_or_went_is_refused_with_who_has_it(generation: str, name: str, hint: str) -> None:
    value = {"innodb_io_capacity_max": 2000, "innodb_redo_log_capacity": "1G", "innodb_flush_sync": 1}.get(name, 2)
    problem = problems_of(generation=generation, settings={name: value})[0]
    assert f"no setting of {generation}" in problem.what
    assert hint in str(problem.hint)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"innodb_io_capacity": 500, "innodb_io_capacity_max": 400}, "innodb_io_capacity_max must not be below"),
        ({"innodb_max_dirty_pages_pct_lwm": 80}, "innodb_max_dirty_pages_pct must not be below"),
    ],
)
def test_settings_that_servers_do_not_take_together(settings: dict[str, Any], told: str) -> None:
    (problem,) = problems_of(generation="mysql-5.7", settings=settings)
    assert told in problem.what


def test_a_policy_is_a_name_or_a_class_in_a_file() -> None:
    names = ("keep-average", "mysql-8.0", "mine.py:Mine", "a:b/mine.py:Mine")
    told = [InnodbModel.model_validate(MODEL | {"flushing": name}).own_policy for name in names]
    assert told == [None, None, *names[2:]]
    for wrong in ("keep_averge", "mine.py", "mine.py:", "mine.txt:Mine", "mine.py:a b"):
        (problem,) = problems_of(flushing=wrong)
        assert "there is no policy" in problem.what
