from __future__ import annotations

import pytest
from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from flatwater.experiment import kinds as registry
from flatwater.experiment.kinds import BUILT, check_kind, read_layer
from flatwater.experiment.workload import Fileio


def test_every_kind_calls_itself_what_the_registry_calls_it() -> None:
    for layer, kinds in BUILT.items():
        for kind, model in kinds.items():
            assert layer == model.LAYER
            assert model.model_fields["kind"].default == kind
            assert model.REALITY in ("real", "modelled", "none")


def test_a_layer_without_a_kind_is_its_first() -> None:
    assert isinstance(read_layer("workload", {"mode": "rndrd"}), Fileio)
    assert [read_layer(layer, {}).kind for layer in ("database", "cache", "storage")] == ["none", "none", "file"]


def test_what_is_not_built_yet_says_what_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry._PLANNED, "database", ("abacus",))
    with pytest.raises(PydanticCustomError) as caught:
        check_kind("database", "abacus")
    assert caught.value.context is not None
    assert "not built yet" in caught.value.context["what"]
    works = "what works now: workload fileio, oltp, replay, tpcc; database none, server, innodb-model; "
    assert caught.value.context["hint"] == works + "cache none, flash; storage file, ssd, hdd, raid, memory, volume"


def test_a_wrong_kind_is_told_at_the_kind() -> None:
    with pytest.raises(ValidationError) as caught:
        Fileio.model_validate(read_layer("workload", {"kind": "fileoi"}))
    assert caught.value.errors()[0]["loc"] == ("kind",)
