from __future__ import annotations

import copy

import pytest

from flatwater.experiment.spell import spell


def test_every_name_is_spelled_and_keeps_its_place() -> None:
    written = {
        "my-key": 1,
        "database": {"settings": {"a-b": 1, "c": 2}},
        "sweep": {
            "database.settings.d-e": [1],
            "workload.connections": [2],
            "database": {"settings": {"f-g": [3]}},
            "zip": [{"database.settings.h-i": [4]}],
        },
    }
    before = copy.deepcopy(written)
    data = spell(written)
    assert written == before
    assert list(data) == ["my-key", "database", "sweep"]
    assert list(data["database"]["settings"]) == ["a_b", "c"]
    assert list(data["sweep"])[:2] == ["database.settings.d_e", "workload.connections"]
    assert data["sweep"]["database"]["settings"] == {"f_g": [3]}
    assert data["sweep"]["zip"] == [{"database.settings.h_i": [4]}]


def test_a_name_that_is_there_both_ways_is_left_for_the_validation() -> None:
    data = spell({"database": {"settings": {"a-b": 1, "a_b": 2}}})
    assert data["database"]["settings"] == {"a-b": 1, "a_b": 2}


def test_parameters_have_dotted_names() -> None:
    flat = {"parameters": {"timing.read_us": 30}}
    nested = {"parameters": {"timing": {"read_us": 30}}}
    assert spell({"storage": nested, "cache": {"storage": nested}}) == {"storage": flat, "cache": {"storage": flat}}


@pytest.mark.parametrize("odd", [{}, {"storage": 3}, {"storage": {"parameters": 3}}, {"cache": {"storage": []}}])
def test_what_is_no_table_stays_as_it_is(odd: dict[str, object]) -> None:
    assert spell(odd) == odd
