from __future__ import annotations

from flatwater.server.variables import read_variables


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
