from __future__ import annotations

import pytest

from flatwater.server.sizes import print_size, read_size, write_size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4G", 4 << 30),
        ("24M", 24 << 20),
        ("512", 512),
        ("64 MiB", 64 << 20),
        ("1t", 1 << 40),
        ("4GB", None),
        ("", None),
    ],
)
def test_sizes_are_read_as_mysql_does(text: str, size: int | None) -> None:
    assert read_size(text) == size


@pytest.mark.parametrize(("size", "text"), [(3800 << 20, "3800M"), (1 << 42, "4096G"), (1000, "1000"), (0, "0")])
def test_sizes_are_written_for_every_server(size: int, text: str) -> None:
    assert write_size(size) == text
    assert read_size(text) == size


def test_sizes_are_printed_for_people() -> None:
    assert print_size(130 * 2**30 * 0.93) == "120.9 GiB"
