from __future__ import annotations

import math

import pytest

from flatwater.report import units


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1234567.8, "1,234,568"),
        (417.0, "417"),
        (417.123, "417.1"),
        (0.012346, "0.01235"),
        (0, "0"),
        (-1.5, "-1.5"),
        (math.nan, units.MISSING),
        (None, units.MISSING),
    ],
)
def test_numbers(value: float, text: str) -> None:
    assert units.number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.23e-5, "12.3 µs"),
        (0.0021, "2.1 ms"),
        (2.9, "2.9 s"),
        (90, "90 s"),
        (150, "2.5 min"),
        (5400, "90 min"),
        (7200, "2 h"),
        (200_000, "2.31 d"),
        (0, "0 µs"),
        (math.inf, units.MISSING),
    ],
)
def test_times(value: float, text: str) -> None:
    assert units.seconds(value) == text


def test_sizes_are_binary() -> None:
    assert [units.binary_bytes(value) for value in (0, 1023, 16384, 1.5 * 2**30, 2**60)] == [
        "0 B", "1,023 B", "16 KiB", "1.5 GiB", "1,024 PiB",
    ]  # fmt: skip


@pytest.mark.parametrize(("span", "unit"), [(0, "s"), (600, "s"), (1800, "min"), (28_800, "h"), (1e6, "d")])
def test_the_time_axis_has_a_fitting_unit(span: float, unit: str) -> None:
    assert units.time_scale(span).unit == unit


def test_percentages() -> None:
    assert units.percent(0.1234) == "12.3 %"
    assert units.percent(-0.019, signed=True) == "-1.9 %"
    assert units.percent(0.02, signed=True) == "+2.0 %"
    assert units.percent(None) == units.MISSING


def test_text_from_outside_means_nothing_to_a_chart() -> None:
    assert units.plain("<b>%{x}&") == "&lt;b&gt;% {x}&amp;"
