from __future__ import annotations

import pytest

from flatwater.experiment import kinds as registry
from flatwater.experiment.kinds import ANY, BUILT, Kinds, kind_fault, kinds_of


def test_every_kind_calls_itself_what_the_registry_calls_it() -> None:
    for layer, kinds in BUILT.items():
        for kind, model in kinds.items():
            assert layer == model.LAYER
            assert model.model_fields["kind"].default == kind
            assert model.REALITY in ("real", "modelled", "none")


def test_what_is_not_built_yet_says_what_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry._PLANNED, "database", ("abacus",))
    fault = kind_fault("database", "abacus")
    assert fault is not None
    assert "not built yet" in fault[0]
    assert fault[1] is not None and fault[1].startswith(
        "what works now: workload fileio, observed, oltp, query-log, replay, sql, tpcc; database "
    )
    assert fault[1].partition(": ")[2].split("; ") == [f"{layer} {', '.join(kinds)}" for layer, kinds in BUILT.items()]


def test_a_kind_that_there_is_has_no_fault() -> None:
    assert {kind_fault(layer, kind) for layer, kinds in BUILT.items() for kind in kinds} == {None}
    assert kind_fault("workload", "fileoi") == ("there is no workload of the kind 'fileoi'", "did you mean fileio?")


def test_kinds_are_known_as_far_as_the_tables_say_them() -> None:
    tables = {"workload": {"kind": "tpcc"}, "database": {"kind": "abacus"}, "storage": 3, "cache": {"kind": "flash"}}
    assert kinds_of(tables) == Kinds(workload="tpcc", cache="flash")
    assert kinds_of({}) == Kinds("fileio", "none", "none", "file")
    assert kinds_of({"sweep": {"zip": {"workload.kind": ["oltp"]}}}).workload is None


def test_a_kind_that_is_not_known_may_be_any() -> None:
    assert ANY.may_be("workload", "tpcc") and Kinds(workload="tpcc").may_be("workload", "tpcc")
    assert not Kinds(workload="tpcc").may_be("workload", "oltp")
    assert Kinds(workload="tpcc", storage="ssd").known == ["tpcc", "ssd"]
