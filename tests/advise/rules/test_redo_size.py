from __future__ import annotations

import pytest
from cases import case, database, finding

from flatwater.advise.rules.redo_size import RedoSize

LIMIT = finding("log limit", 0.8, "the age was at the limit")


@pytest.mark.parametrize(
    ("server", "settings", "lines", "overrides"),
    [
        ("mariadb 10.11.6", {"innodb_log_file_size": "100663296"}, ("innodb_log_file_size = 384M",), "402653184"),
        ("mysql 8.0.36", {"innodb_redo_log_capacity": "104857600"}, ("innodb_redo_log_capacity = 400M",), "419430400"),
        (
            "percona 5.5.61",
            {"innodb_log_file_size": "1073741824", "innodb_log_files_in_group": "2"},
            ("innodb_log_file_size = 4G",),
            "4294967296",
        ),
        # All files together stay under 4 GB.
        (
            "mysql 5.5.9",
            {"innodb_log_file_size": "1073741824", "innodb_log_files_in_group": "2"},
            ("innodb_log_file_size = 2047M",),
            "2146435072",
        ),
    ],
)
def test_a_larger_log_in_the_servers_words(
    server: str, settings: dict[str, str], lines: tuple[str, ...], overrides: str
) -> None:
    told = RedoSize().advise(case(LIMIT, database=database(server, settings)))
    assert told is not None
    assert told.change.lines == lines
    assert told.change.overrides == (f"database.settings.{lines[0].partition(' ')[0]}={overrides}",)
    assert told.share == 0.8
    assert told.evidence == LIMIT.evidence
    assert "recovery" in told.risk


def test_silent_where_the_log_is_not_the_limit() -> None:
    settings = {"innodb_log_file_size": "100663296"}
    assert RedoSize().advise(case(finding("CPU"), database=database(settings=settings))) is None
    assert RedoSize().advise(case(database=database(settings=settings))) is None


def test_silent_where_the_size_is_unknown_or_cannot_grow() -> None:
    assert RedoSize().advise(case(LIMIT, database=database())) is None
    largest = {"innodb_log_file_size": str(2047 << 20), "innodb_log_files_in_group": "2"}
    assert RedoSize().advise(case(LIMIT, database=database("mysql 5.5.9", largest))) is None


def test_each_of_several_servers_is_judged_by_its_name() -> None:
    name, mib = "innodb_log_file_size", 1 << 20
    small, large = {name: str(96 * mib)}, {name: str(256 * mib)}
    alike = RedoSize().advise(case(LIMIT, database=database(settings=small, servers=2, each=[small, small])))
    assert alike is not None
    assert alike.change.text == "Make the redo log of each of the 2 servers 384 MiB, 4 times as large."
    assert (alike.change.lines, alike.change.overrides) == (
        (f"{name} = 384M",),
        (f"database.settings.{name}={384 * mib}",),
    )
    mixed = RedoSize().advise(case(LIMIT, database=database(settings=small, servers=2, each=[small, large])))
    assert mixed is not None
    assert mixed.change.lines == (f"{name} = 384M  # server 0", f"{name} = 1G  # server 1")
    # An experiment gives all servers the same settings.
    assert mixed.change.overrides == ()
    assert "96 MiB (server 0), 256 MiB (server 1)" in mixed.evidence[-1]
    assert "1 GiB of log" in mixed.risk


def test_a_server_that_cannot_grow_is_left_out() -> None:
    size, files = "innodb_log_file_size", {"innodb_log_files_in_group": "2"}
    full, small = {size: str(2047 << 20), **files}, {size: str(100 << 20), **files}
    told = RedoSize().advise(case(LIMIT, database=database("mysql 5.5.9", full, servers=2, each=[full, small])))
    assert told is not None
    assert told.change.lines == (f"{size} = 400M  # server 1",)
    assert told.change.text == "Make the redo logs larger: server 1 800 MiB."
