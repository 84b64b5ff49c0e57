"""A table is a value whatever is wrong with it, and the problems name their fields."""

from __future__ import annotations

from typing import Any

import pytest

from flatwater.experiment.cache import FlashCache
from flatwater.experiment.database import InnodbModel, Server
from flatwater.experiment.kinds import ANY, Kinds
from flatwater.experiment.record import Record
from flatwater.experiment.storage import SsdStorage
from flatwater.experiment.table import read_table, reset_fields
from flatwater.experiment.workload import Fileio


def test_a_table_with_nothing_wrong() -> None:
    read = read_table(Record, "record", {"interval_s": "2s"}, ANY)
    assert (read.value, read.problems, read.left_out) == (Record(interval_s=2.0), (), frozenset())


def test_a_wrong_field_is_at_its_default_and_the_others_are_not() -> None:
    read = read_table(Fileio, "workload", {"mode": "rndwr", "threads": 0, "files": 7}, ANY)
    assert read.value == Fileio(mode="rndwr", files=7)
    assert [problem.field for problem in read.problems] == ["workload.threads"]
    assert read.left_out == {"workload.threads"}


@pytest.mark.parametrize("table", [{}, {"mode": "rndwx"}])
def test_a_required_field_has_a_stand_in(table: dict[str, Any]) -> None:
    read = read_table(Fileio, "workload", table | {"files": 7}, ANY, stand_ins={"mode": "rndrd"})
    assert read.value == Fileio(mode="rndrd", files=7)
    assert read.left_out == {"workload.mode"}
    assert read_table(Fileio, "workload", table, ANY).value is None


def test_what_is_no_table_has_no_value() -> None:
    read = read_table(Record, "record", 3, ANY)
    assert read.value is None
    assert [(problem.field, problem.what) for problem in read.problems] == [("record", "must be a table, not 3")]


def test_one_wrong_entry_does_not_take_the_others_along() -> None:
    settings = {"sync_binlog": 1, "datadir": "/x"}
    read = read_table(Server, "database", {"settings": settings}, ANY)
    assert read.value is not None and read.value.settings == {"sync_binlog": 1}
    assert read.left_out == {"database.settings.datadir"}
    cpu = read_table(InnodbModel, "database", {"cpu": {"read_us": -1, "write_us": 2.0}}, ANY)
    assert cpu.value is not None and (cpu.value.cpu.read_us, cpu.value.cpu.write_us) == (None, 2.0)


def test_a_table_without_an_entry_that_it_needs_is_left_out() -> None:
    read = read_table(Server, "database", {"instances": 2, "fault": {"kind": "melt", "at_s": 3}}, ANY)
    assert read.value == Server(instances=2)
    assert [problem.field for problem in read.problems] == ["database.fault.kind"]


def test_an_unknown_name_is_likely_one_beside_it() -> None:
    (problem,) = read_table(Fileio, "workload", {"mode": "rndrd", "thread": 1}, Kinds(workload="fileio")).problems
    assert (problem.what, problem.hint) == ("unknown field", "did you mean threads?")


def test_fields_go_back_to_their_defaults() -> None:
    cache = FlashCache(dirty_low_pct=10, storage=SsdStorage(device="x", parameters={"timing.read_us": 3, "other": 4}))
    reset = reset_fields(cache, ["dirty_low_pct", "storage.device", "storage.parameters.timing.read_us"])
    assert reset == FlashCache(storage=SsdStorage(parameters={"other": 4}))
    assert cache.dirty_low_pct == 10
    assert reset_fields(Fileio(mode="rndwr", files=3), ["mode", "files"]) == Fileio(mode="rndwr"), "it needs a mode"


@pytest.mark.parametrize(("written", "left_out"), [("file", "files"), ("thread", "threads"), ("nothing_like_it", None)])
def test_the_default_of_a_field_that_is_misspelt_was_not_meant(written: str, left_out: str | None) -> None:
    read = read_table(Fileio, "workload", {"mode": "rndwr", written: 7}, ANY)
    assert [problem.field for problem in read.problems] == [f"workload.{written}"]
    expected = {f"workload.{name}" for name in (written, left_out) if name is not None}
    assert read.left_out == expected
    if left_out is not None:
        # It is there, too: then its value counts.
        both = read_table(Fileio, "workload", {"mode": "rndwr", written: 7, left_out: 3}, ANY)
        assert both.left_out == {f"workload.{written}"}
