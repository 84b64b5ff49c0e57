"""Figures of a device, by their dotted names."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from flatwater.experiment.device.parameters import flatten, read_parameters, value_fault


def test_tables_and_dotted_names_are_the_same() -> None:
    flat = {"collector.policy": "fifo", "collector.pace": True, "queue_depth": 8}
    assert flatten({"collector": {"policy": "fifo", "pace": True}, "queue_depth": 8}) == flat
    assert flatten({"collector": {"policy": "fifo"}, "collector.pace": True, "queue_depth": 8}) == flat
    assert read_parameters(flat) == flat


def test_all_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(ValidationError) as caught:
        read_parameters({"timing": {"read_us": [1, 2], "program_us": float("nan"), "erase_us": 3}})
    assert [".".join(map(str, error["loc"])) for error in caught.value.errors()] == [
        "timing.read_us",
        "timing.program_us",
    ]


@pytest.mark.parametrize("value", [1, 1.5, "greedy", True])
def test_what_a_figure_can_be(value: object) -> None:
    assert value_fault(value) is None
