"""The modelled InnoDB of an experiment."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from flatwater.experiment import Experiment
from flatwater.experiment.database import InnodbModel
from flatwater.experiment.database.measured import default_workload

STORAGE = {"kind": "raid", "device": "raid10-8"}
MODEL = {"kind": "innodb-model"}


def experiment(workload: dict[str, Any] | None = None, storage: dict[str, Any] = STORAGE, **rest: Any) -> Experiment:
    asked = {"kind": "tpcc", "warehouses": 10} if workload is None else workload
    return Experiment.model_validate({"workload": asked, "database": MODEL, "storage": storage} | rest)


def test_a_modelled_server_stands_on_modelled_storage() -> None:
    cell = experiment()
    assert isinstance(cell.database, InnodbModel)
    assert cell.in_virtual_time
    assert cell.layers == {"workload": "modelled", "database": "modelled", "cache": "none", "storage": "modelled"}


def test_costs_are_the_measured_ones_in_nanoseconds() -> None:
    measured = default_workload("tpcc").cpu_us
    statement_us, read_us = measured.statement.value, measured.page_read.value
    assert statement_us > 0
    told = InnodbModel.model_validate(MODEL).cpu.spec(measured)
    assert (told["statement_ns"], told["read_ns"]) == (round(1000 * statement_us), round(1000 * read_us))
    older = InnodbModel.model_validate(MODEL | {"cpu": {"read_us": 1.5, "times": 2.0}}).cpu.spec(measured)
    assert (older["statement_ns"], older["read_ns"]) == (round(2000 * statement_us), 1500)


def test_redo_is_of_the_generation_that_was_measured() -> None:
    told = InnodbModel.model_validate(MODEL).measured_spec("tpcc")
    assert told["redo_bytes"] == {}
    assert told["rows_a_page"]["stock.PRIMARY"] == 48


def test_a_measured_workload_is_of_the_workloads_kind() -> None:
    with pytest.raises(ValidationError, match="is of oltp, and the workload is tpcc"):
        experiment(database=MODEL | {"workload": "oltp-mariadb-10.11"})
    with pytest.raises(ValidationError, match="there is no measured workload"):
        InnodbModel.model_validate(MODEL | {"workload": "tpcc-mariadb"})


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"workload": {"kind": "tpcc", "keying_and_think": True}}, "workload.keying_and_think"),
        ({"workload": {"kind": "tpcc", "rate_per_s": 10}}, "workload.rate_per_s"),
        ({"workload": {"kind": "oltp", "mode": "insert"}}, "workload.mode"),
        ({"storage": {"kind": "raid", "device": "raid10-8", "size": "1G"}}, "storage.size"),
        ({"storage": {"kind": "file", "path": "/tmp"}}, "storage.kind"),
        ({"workload": {"kind": "fileio", "mode": "rndrd"}}, "database.kind"),
    ],
)
def test_what_is_not_modelled_is_named(asked: dict[str, Any], field: str) -> None:
    with pytest.raises(ValidationError) as caught:
        experiment(**asked)
    assert field in {".".join(str(part) for part in error["loc"]) for error in caught.value.errors()}


def test_a_setting_belongs_to_its_generation() -> None:
    settings = {"innodb_adaptive_flushing_method": "keep_average"}
    assert InnodbModel.model_validate(MODEL | {"settings": settings}).resolved["innodb_doublewrite"] is True
    with pytest.raises(ValidationError, match=r"no setting of mysql-5\.5"):
        InnodbModel.model_validate(MODEL | {"generation": "mysql-5.5", "settings": settings})


def test_settings_without_effect_are_told() -> None:
    model = InnodbModel.model_validate(MODEL | {"settings": {"innodb_flush_method": "O_DIRECT"}})
    assert model.ignored == ["innodb_flush_method"]
    assert "innodb_flush_method" not in model.resolved
