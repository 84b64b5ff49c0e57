from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flatwater.experiment.units import (
    MAX_SIZE,
    parse_duration,
    parse_size,
    print_duration,
    print_left,
    print_size,
    write_size,
)


@pytest.mark.parametrize(
    ("written", "size"),
    [
        (4096, 4096),
        ("4096", 4096),
        ("512B", 512),
        ("16KiB", 16384),
        ("16 KiB", 16384),
        ("16kib", 16384),
        ("16K", 16384),
        ("16k", 16384),
        ("500M", 500 * 2**20),  # MySQL's M is binary
        ("2G", 2**31),
        ("1T", 2**40),
        ("16KB", 16000),
        ("2GB", 2 * 10**9),
        ("400GB", 400 * 10**9),
        ("0.5KiB", 512),
        ("1.5GiB", 3 * 2**29),
        ("8191PiB", 8191 * 2**50),
        (MAX_SIZE, MAX_SIZE),
    ],
)
def test_sizes(written: object, size: int) -> None:
    assert parse_size(written) == size


@pytest.mark.parametrize(
    "written",
    [
        "",
        "K",
        "12Q",
        "-1",
        "-1K",
        "1e3",
        "0",
        "0K",
        0,
        -1,
        True,
        1.5,
        None,
        [],
        "0.3K",
        "8EiB",
        "8192PiB",
        2**63,
        "1_000",
        "\uff11\uff16",
        "nan",
        "inf",
        "16KiB\n16",
        "9" * 5000,
        "1." + "9" * 5000,
    ],
)
def test_what_is_no_size(written: object) -> None:
    with pytest.raises(ValueError, match=r"size|bytes|hold"):
        parse_size(written)


@given(st.integers(1, MAX_SIZE))
def test_a_written_size_reads_back_exactly(size: int) -> None:
    assert parse_size(write_size(size)) == size


@given(st.integers(1, 2**20), st.integers(0, 4))
def test_a_size_is_written_in_its_largest_whole_unit(count: int, power: int) -> None:
    number = write_size(count * 1024**power).rstrip("KMGTPiB")
    assert int(number) <= count


def test_sizes_for_people() -> None:
    assert [write_size(n) for n in (1, 512, 1000, 1024, 16384, 2**31, 130 * 10**9)] == [
        "1B",
        "512B",
        "1000B",
        "1KiB",
        "16KiB",
        "2GiB",
        "126953125KiB",
    ]
    assert [print_size(n) for n in (0, 512, 16384, 130 * 10**9, 2**60)] == [
        "0 B",
        "512 B",
        "16 KiB",
        "121.1 GiB",
        "1024 PiB",
    ]


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        (60, 60),
        (0.5, 0.5),
        ("30s", 30),
        ("5m", 300),
        ("5 min", 300),
        ("8h", 28800),
        ("1h30m", 5400),
        ("500ms", 0.5),
        ("900us", 0.0009),
        ("1.5h", 5400),
        ("1d", 86400),
        (0, 0),
        ("0s", 0),
    ],
)
def test_durations(written: object, seconds: float) -> None:
    assert parse_duration(written) == seconds


@pytest.mark.parametrize(
    "written", ["", "5", "5x", "-5s", "5m foo", "h", True, None, [], float("inf"), float("nan"), 10**400, "9999d"]
)
def test_what_is_no_duration(written: object) -> None:
    with pytest.raises(ValueError, match=r"duration|seconds|year|finite"):
        parse_duration(written)


def test_short_durations_for_people() -> None:
    durations = (0.00388, 0.0996, 3e-6, 9.996, 59.7, 3599.9, -0.002)
    told = ["3.88 ms", "99.6 ms", "3 us", "10 s", "1 min", "1 h", "-2 ms"]
    assert [print_duration(seconds) for seconds in durations] == told


def test_what_is_left_has_no_fractions() -> None:
    left = [print_left(seconds) for seconds in (0.0, 0.00388, 1, 1.2, 61, 7200.5)]
    assert left == ["less than 1 s left"] * 2 + ["1 s left", "2 s left", "1 min left", "2 h left"]


def test_durations_for_people() -> None:
    assert [print_duration(s) for s in (0, 0.25, 8, 30, 59.4, 360, 5400, 7200, 86400 * 3, 60e9)] == [
        "0 s",
        "0.25 s",
        "8 s",
        "30 s",
        "59 s",
        "6 min",
        "1 h 30 min",
        "2 h",
        "3 days",
        "1,901 years",
    ]
