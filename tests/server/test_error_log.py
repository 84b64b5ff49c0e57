from __future__ import annotations

from pathlib import Path

import pytest

from flatwater.server.error_log import find_cause, message_of

#: What servers wrote when they did not start: the log, and the line that tells why.
LOGS = {
    "mariadb 10.11, a wrong setting": (
        (
            "2026-01-02 10:00:00 0 [Note] Starting MariaDB 10.11.6\n"
            "2026-01-02 10:00:00 0 [ERROR] /usr/sbin/mariadbd: unknown variable 'innodb_foo=3'\n"
            "2026-01-02 10:00:00 0 [ERROR] Aborting\n"
        ),
        "/usr/sbin/mariadbd: unknown variable 'innodb_foo=3'",
    ),
    "mysql 5.5, another log size": (
        (
            "110102 10:00:00  InnoDB: Initializing buffer pool, size = 128.0M\n"
            "InnoDB: Error: log file ./ib_logfile0 is of different size 0 5242880 bytes\n"
            "InnoDB: than specified in the .cnf file 0 67108864 bytes!\n"
            "110102 10:00:00 [ERROR] Plugin 'InnoDB' init function returned error.\n"
            "110102 10:00:00 [ERROR] Plugin 'InnoDB' registration as a STORAGE ENGINE failed.\n"
            "110102 10:00:00 [ERROR] Unknown/unsupported storage engine: InnoDB\n"
            "110102 10:00:00 [ERROR] Aborting\n"
        ),
        "InnoDB: Error: log file ./ib_logfile0 is of different size 0 5242880 bytes",
    ),
    "mysql 8.0, a full disk": (
        (
            "2026-01-02T10:00:00.123456Z 1 [ERROR] [MY-012639] [InnoDB] Write to file ./ibdata1 failed at offset 0\n"
            "2026-01-02T10:00:00.123456Z 1 [ERROR] [MY-010020] [Server] Data Dictionary initialization failed.\n"
            "2026-01-02T10:00:00.123456Z 0 [ERROR] [MY-010119] [Server] Aborting\n"
        ),
        "Write to file ./ibdata1 failed at offset 0",
    ),
    "only consequences": ("2026-01-02 10:00:00 0 [ERROR] Aborting\n", "Aborting"),
}


@pytest.mark.parametrize("name", LOGS)
def test_the_first_error_tells_why_a_server_does_not_start(tmp_path: Path, name: str) -> None:
    log = tmp_path / "error.log"
    log.write_text(LOGS[name][0])
    assert find_cause(log, first=True) == LOGS[name][1]


def test_the_last_error_tells_why_a_server_died(tmp_path: Path) -> None:
    log = tmp_path / "error.log"
    log.write_text("2026-01-02 10:00:00 0 [ERROR] old\n2026-01-02 10:00:01 7 [ERROR] InnoDB: new\n")
    assert find_cause(log, first=False) == "InnoDB: new"


def test_earlier_starts_do_not_count(tmp_path: Path) -> None:
    log = tmp_path / "error.log"
    log.write_text("2026-01-02 10:00:00 0 [ERROR] of the first start\n")
    assert find_cause(log, log.stat().st_size, first=True) is None
    assert find_cause(tmp_path / "absent", first=True) is None


def test_a_long_line_is_cut(tmp_path: Path) -> None:
    log = tmp_path / "error.log"
    log.write_bytes(b"[ERROR] " + b"x" * 100_000 + b"\xff\n")
    assert len(find_cause(log, first=True) or "") < 500


@pytest.mark.parametrize(
    "stamp",
    [
        "2026-11-23T14:37:13.123456Z 12 [ERROR] [MY-000035] [Server] ",
        "2026-11-23T14:37:13.123456Z 12 [Warning] [MY-000035] [Server] ",
        "2026-11-23 14:37:13 12 [ERROR] ",
        "2026-11-23 14:37:13 7f3a5c [Warning] ",
        "261123 14:37:13 [ERROR] ",
        "",
    ],
)
def test_a_message_is_told_without_its_time_and_thread(stamp: str) -> None:
    said = "Disk is full writing './binlog.000001' (OS errno 28 - No space left on device). Waiting for space..."
    assert message_of(f"  {stamp}{said}\n") == said
