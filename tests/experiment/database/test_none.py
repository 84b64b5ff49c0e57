"""No database: what an experiment on files has."""

from __future__ import annotations

from flatwater.experiment import NoDatabase
from flatwater.experiment.kinds import ANY
from flatwater.experiment.layers import read_layer


def test_it_is_what_is_meant_when_nothing_is_said() -> None:
    assert read_layer("database", {}, ANY).value == NoDatabase()
    assert NoDatabase().REALITY == "none"
