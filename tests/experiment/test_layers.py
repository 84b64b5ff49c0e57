"""A layer is read as the kind that it names; what is wrong with it is told once and left out."""

from __future__ import annotations

from typing import Any

import pytest

from flatwater.experiment.database import NoDatabase, Server
from flatwater.experiment.kinds import ANY, Kinds
from flatwater.experiment.layers import read_kinds, read_layer, read_layers
from flatwater.experiment.storage import FileStorage, SsdStorage
from flatwater.experiment.workload import Fileio


def test_a_layer_without_a_kind_is_its_first() -> None:
    assert read_layer("workload", {"mode": "rndrd"}, ANY).value == Fileio(mode="rndrd")
    kinds = [read_layer(layer, {}, ANY).value.kind for layer in ("database", "cache", "storage")]
    assert kinds == ["none", "none", "file"]


def test_there_is_always_a_workload() -> None:
    read = read_layers({"storage": {"size": 4096}}, ANY)
    assert read.value == {"storage": FileStorage(size=4096), "workload": Fileio(mode="rndrd")}
    assert [problem.field for problem in read.problems] == ["workload"]


@pytest.mark.parametrize(
    ("tables", "fields"),
    [
        ({"workload": 3, "cache": []}, ["workload", "cache"]),
        ({"workload": {"kind": "fileoi"}, "storage": {"kind": 3}}, ["workload.kind", "storage.kind"]),
        ({}, []),
    ],
)
def test_a_layer_of_no_kind_is_left_out(tables: dict[str, Any], fields: list[str]) -> None:
    read = read_kinds(tables)
    assert [problem.field for problem in read.problems] == fields
    assert read.left_out == {field.partition(".")[0] for field in fields}


def test_of_a_layer_of_no_kind_nothing_else_is_told() -> None:
    read = read_layer("storage", {"kind": "sdd", "nonsense": 1}, Kinds())
    assert (read.value, read.problems, read.left_out) == (FileStorage(), (), frozenset({"storage"}))


def test_fields_that_do_not_go_together_are_left_out() -> None:
    read = read_layer("workload", {"mode": "rndwr", "queue_depth": 8, "files": 3}, ANY)
    assert [problem.field for problem in read.problems] == ["workload.queue_depth"]
    assert read.value == Fileio(mode="rndwr", files=3)
    assert read.left_out == {"workload.queue_depth"}


def test_a_conflict_that_follows_from_a_wrong_field_is_not_told() -> None:
    read = read_layer("workload", {"mode": "rndwr", "queue_depth": 8, "engine": "io_urng"}, ANY)
    assert [problem.field for problem in read.problems] == ["workload.engine"]


def test_a_device_with_a_wrong_figure_is_no_device() -> None:
    table = {"kind": "ssd", "device": "intel-x25-e", "size": "1GiB", "parameters": {"timing.read": 3}}
    read = read_layer("storage", table, ANY)
    assert [problem.field for problem in read.problems] == ["storage.parameters.timing.read"]
    assert read.value == SsdStorage(size=2**30)
    assert read.left_out == {"storage.device", "storage.parameters"}


def test_a_trace_that_cannot_be_read_leaves_no_replay() -> None:
    read = read_layer("workload", {"kind": "replay", "trace": "nowhere"}, ANY)
    assert [problem.field for problem in read.problems] == ["workload.trace"]
    assert (read.value, read.left_out) == (Fileio(mode="rndrd"), {"workload"})


def test_a_missing_mode_comes_with_an_example_of_its_kind() -> None:
    (problem,) = read_layer("workload", {"kind": "oltp"}, ANY).problems
    assert problem.hint == 'say what to do, for example mode = "read_write" in [workload]'


def test_values_are_the_kind_s_own() -> None:
    assert isinstance(read_layer("database", {"kind": "server"}, ANY).value, Server)
    assert isinstance(read_layer("database", {}, ANY).value, NoDatabase)
