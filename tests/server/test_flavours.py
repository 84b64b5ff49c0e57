from __future__ import annotations

from pathlib import Path

import pytest

from flatwater.errors import UserError
from flatwater.server.flavours import FLAVOURS, recognise


def _installed(folder: Path, *tools: str) -> Path:
    for name in ("bin/mysqld", *tools):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    return folder / "bin/mysqld"


def test_a_data_directory_is_made_with_the_servers_own_tool(tmp_path: Path) -> None:
    server = _installed(tmp_path / "a", "scripts/mysql_install_db")
    data = tmp_path / "data"
    for flavour, version in (("mysql", (5, 5, 9)), ("percona", (5, 6, 40)), ("mariadb", (10, 1, 20))):
        command = FLAVOURS[flavour].initialise(server, version, data, ["--user=root"]).command
        assert command[0] == str(tmp_path / "a/scripts/mysql_install_db")
        assert {"--no-defaults", f"--basedir={tmp_path / 'a'}", f"--datadir={data}", "--user=root"} <= set(command)
        assert "--skip-test-db" not in command
    newer = _installed(tmp_path / "b", "bin/mariadb-install-db")
    command = FLAVOURS["mariadb"].initialise(newer, (10, 11, 6), data, ["--innodb-page-size=8K"]).command
    assert command[0] == str(tmp_path / "b/bin/mariadb-install-db")
    assert {"--auth-root-authentication-method=normal", "--skip-test-db", "--innodb-page-size=8K"} <= set(command)
    command = FLAVOURS["mysql"].initialise(newer, (8, 0, 36), data, []).command
    assert (command[0], command[-1]) == (str(newer), "--initialize-insecure")


def test_a_server_without_the_tool_is_given_the_statements_that_lie_beside_it(tmp_path: Path) -> None:
    names = ("mysql_system_tables.sql", "mysql_system_tables_data.sql")
    server = _installed(tmp_path / "a", *(f"share/{name}" for name in names))
    for version, engine in (((5, 5, 9), {"--loose-skip-innodb"}), ((5, 6, 24), set[str]())):
        making = FLAVOURS["mysql"].initialise(server, version, tmp_path / "data", ["--user=root"])
        assert making.scripts == tuple(tmp_path / "a" / "share" / name for name in names)
        assert making.command[:2] == [str(server), "--no-defaults"]
        assert {"--bootstrap", f"--datadir={tmp_path / 'data'}", "--user=root"} <= {*making.command}
        # Before 5.6, log files would be made of a size that the first start does not ask for.
        assert {*making.command} & {"--loose-skip-innodb"} == engine
    lacking = _installed(tmp_path / "b", f"share/{names[0]}")
    with pytest.raises(
        UserError, match=r"mysql_install_db is not installed beside .*or share/mysql_system_tables\.sql"
    ):
        FLAVOURS["mysql"].initialise(lacking, (5, 6, 24), tmp_path / "data", [])


def test_a_tool_of_another_server_is_not_used(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="mariadb-install-db is not installed beside"):
        FLAVOURS["mariadb"].initialise(_installed(tmp_path), (10, 11, 6), tmp_path / "data", [])


@pytest.mark.parametrize(
    ("flavour", "version", "first"),
    [
        ("mysql", (5, 5, 9), "GRANT ALL"),
        ("mysql", (5, 7, 40), "CREATE USER IF NOT EXISTS"),
        ("percona", (8, 0, 35), "CREATE USER IF NOT EXISTS"),
        ("mariadb", (10, 1, 40), "GRANT ALL"),
        ("mariadb", (10, 11, 6), "CREATE USER IF NOT EXISTS"),
    ],
)
def test_accounts_are_made_in_the_servers_syntax(flavour: str, version: tuple[int, int, int], first: str) -> None:
    lines = FLAVOURS[flavour].account(version, "flatwater", "secret")
    assert lines[0].startswith(first)
    # An init file has one statement a line.
    assert all(line.endswith(";") and "\n" not in line for line in lines)
    assert lines[-1].startswith("GRANT ALL PRIVILEGES ON *.* TO 'flatwater'@'localhost'")


def test_flavours_are_told_apart() -> None:
    assert recognise("8.0.35-27 (Percona Server (GPL), Release 27)") == "percona"
    assert recognise("10.11.6-MariaDB Debian 12") == "mariadb"
    assert recognise("8.4.0 MySQL Community Server - GPL") == "mysql"


def test_old_servers_refuse_a_log_of_another_size() -> None:
    assert FLAVOURS["mysql"].makes_redo_anew((5, 6, 7))
    assert not FLAVOURS["mysql"].makes_redo_anew((5, 6, 8))
    assert FLAVOURS["percona"].makes_redo_anew((5, 6, 40))
    assert not FLAVOURS["mariadb"].makes_redo_anew((10, 0, 0))
