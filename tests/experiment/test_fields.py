from __future__ import annotations

import pytest

from flatwater.experiment.fields import all_fields, resolve_value, unknown_field_hint, why_no_field
from flatwater.experiment.kinds import Kinds


def test_kinds_have_fields_of_their_own() -> None:
    assert {"workload.threads", "workload.warehouses", "workload.rows", "database.settings"} <= all_fields().keys()
    of_tpcc = all_fields(Kinds(workload="tpcc"))
    assert "workload.warehouses" in of_tpcc
    assert not {"workload.threads", "workload.rows", "workload.mode"} & of_tpcc.keys()
    of_oltp = all_fields(Kinds(workload="oltp", database="none"))
    assert "workload.mode" in of_oltp
    assert "database.settings" not in of_oltp
    assert len(all_fields()["workload.mode"]) == 3


def test_a_value_is_that_of_the_kind_that_is_meant() -> None:
    assert resolve_value("workload.mode", "randread") == "rndrd"
    assert resolve_value("workload.mode", "oltp_read_only") == "read_only"
    oltp = Kinds(workload="oltp")
    with pytest.raises(ValueError, match="not a choice"):
        resolve_value("workload.mode", "randread", oltp)
    assert resolve_value("workload.mode", "read_only", oltp) == "read_only"


def test_settings_are_whatever_the_server_has() -> None:
    assert why_no_field("database.settings.innodb_anything") is None
    assert resolve_value("database.settings.innodb_anything", "24M") == "24M"
    missing = why_no_field("database.settings.datadir")
    assert missing is not None and "storage.path" in missing[0]
    assert why_no_field("database.settings.x", Kinds(database="none")) == (
        "there is no such field",
        'only with database.kind = "server" or database.kind = "innodb-model"',
    )


def test_a_password_is_no_value_of_a_sweep() -> None:
    assert resolve_value("database.url", "mysql://me@db/") == "mysql://me@db/"
    with pytest.raises(ValueError, match="password"):
        resolve_value("database.url", "mysql://me:pw@db/")


@pytest.mark.parametrize(
    ("kind", "field", "hint"),
    [
        ("tpcc", "workload.threads", "did you mean workload.connections?"),
        ("oltp", "workload.table_size", "did you mean workload.rows?"),
        ("oltp", "workload.table-size", "did you mean workload.rows?"),
        ("fileio", "workload.threads", "did you mean workload.threads?"),
        ("fileio", "workload.warehouses", 'only with workload.kind = "tpcc"'),
        ("tpcc", "workload.fill", "did you mean storage.fill?"),
    ],
)
def test_hints_know_the_kind(kind: str, field: str, hint: str) -> None:
    assert unknown_field_hint(field, Kinds(workload=kind)) == hint


@pytest.mark.parametrize("field", sorted(all_fields()))
def test_no_field_takes_nonsense_without_saying_so(field: str) -> None:
    """A swept table (`database.cpu`) was a traceback."""

    class Nonsense:
        pass

    with pytest.raises(ValueError, match=r"."):
        resolve_value(field, Nonsense())
