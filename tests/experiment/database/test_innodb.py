"""The modelled InnoDB of an experiment."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from flatwater.experiment import Experiment
from flatwater.experiment.database import InnodbModel

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


def test_costs_are_nanoseconds_in_the_engine() -> None:
    model = InnodbModel.model_validate(MODEL | {"cpu": {"statement_us": 1.5}})
    assert model.cpu.spec() == {"statement_ns": 1500, "touch_ns": 3000, "read_ns": 100_000, "write_ns": 20_000}


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
