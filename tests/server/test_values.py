from __future__ import annotations

import pytest

from flatwater.errors import UserError
from flatwater.server import Binary, translate
from flatwater.server.values import check_values


def test_what_the_server_takes_is_no_error(binary: Binary) -> None:
    check_values({}, binary)
    check_values(
        {
            "innodb_io_capacity": "2000",
            "innodb_max_dirty_pages_pct": "7.5",
            "innodb_doublewrite": "OFF",
            "innodb_flush_method": "O_DIRECT",
            "log_bin": "binlog",
            "sort_buffer_size": "2M",
        },
        binary,
    )


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("innodb_io_capacity", 50, "would run with 100 instead of 50 (hint: give a value that it takes as it is)"),
        ("innodb_flush_neighbors", 7, "would run with 2 instead of 7"),
        ("thread_handling", "O_MAGIC", "does not take 'O_MAGIC': "),
        ("innodb_doublewrite", "maybe", "does not take 'maybe': "),
        ("innodb_buffer_pool_size", "-3", "does not take '-3': "),
        ("innodb_max_dirty_pages_pct", "few", "does not take 'few': "),
    ],
)
def test_what_it_would_refuse_or_replace_is_found_before_it_starts(
    binary: Binary, name: str, value: int | str, message: str
) -> None:
    with pytest.raises(UserError) as caught:
        translate({"max_connections": 100, name: value}, binary)
    assert str(caught.value).startswith(f"database.settings.{name}: {binary.title} {message}")
