from __future__ import annotations

import pytest

from flatwater.experiment import Experiment
from flatwater.experiment.fields import all_fields
from flatwater.experiment.roles import DECISIVE, ROLES, role_of

TABLES = ("workload", "database", "cache", "storage", "record")


def schema() -> set[str]:
    """Every field of the format as deep as roles are given: of a layer's kinds, and the experiment's own."""
    own = {name for name in Experiment.model_fields if name not in TABLES}
    return own | {field for field in all_fields() if field.partition(".")[0] in TABLES and field.count(".") == 1}


@pytest.mark.parametrize("field", sorted(schema()))
def test_every_field_of_the_format_has_a_role(field: str) -> None:
    """A new field must be put into `roles.ROLES`: only its author knows whether runs that differ in it are alike."""
    assert role_of(field) is not None, f"{field} has no role: add it to flatwater/experiment/roles.py"


def test_only_the_cache_has_one_role_for_all_its_fields() -> None:
    assert [table for table in TABLES if table in ROLES] == ["cache"]


def test_no_role_is_of_a_field_that_there_is_not() -> None:
    assert ROLES.keys() <= schema() | {"cache"}


def test_what_a_table_holds_has_its_tables_role() -> None:
    assert {field: role_of(field) for field in all_fields() if role_of(field) is None} == {}
    assert role_of("database.settings.innodb_log_file_size") == "stack"
    assert role_of("cache.storage.size") == "stack", "how large the cache is, not the data"
    assert role_of("cache.policy") == "stack"
    assert role_of("nothing.of.ours") is None


def test_another_question_is_told_from_another_answer() -> None:
    decisive = {field for field in ROLES if ROLES[field] in DECISIVE}
    assert {"workload.mode", "workload.block_size", "workload.queue_depth", "workload.connections"} <= decisive
    assert {"storage.size", "workload.warehouses", "workload.unit"} <= decisive
    assert not decisive & {"storage.path", "storage.device", "workload.engine", "workload.duration_s", "title"}
