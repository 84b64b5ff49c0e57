from __future__ import annotations

import pytest

from flatwater.server.variables import adjusted_settings, read_variables


def test_what_could_be_secret_is_left_out() -> None:
    rows: list[tuple[str | None, ...]] = [
        ("innodb_io_capacity", "200"),
        ("version_comment", None),
        ("report_password", "x"),
        ("ssl_key", "/etc/key.pem"),
        ("hostname", "db7.example.org"),
        ("wsrep_sst_auth", "u:p"),
        ("caching_sha2_password_private_key_path", "private_key.pem"),
        ("keyring_file_data", "/var/lib/keyring"),
        ("key_buffer_size", "8388608"),
    ]
    assert read_variables(rows) == {"innodb_io_capacity": "200", "version_comment": "", "key_buffer_size": "8388608"}


@pytest.mark.parametrize(
    ("asked", "got", "same"),
    [
        ("24M", "25165824", True),
        ("24M", "25165825", False),
        ("ON", "1", True),
        ("OFF", "ON", False),
        ("60", "60.000000", True),
        ("1", "area", True),
        ("utf8", "utf8mb4", False),
    ],
)
def test_values_are_compared_by_what_they_mean(asked: str, got: str, same: bool) -> None:
    assert adjusted_settings({"name": asked}, {"name": got}) == ({} if same else {"name": (asked, got)})


def test_only_what_the_server_reports_is_compared() -> None:
    assert adjusted_settings({"missing": "1", "log_bin": "binlog"}, {"log_bin": "ON"}) == {}
