from __future__ import annotations

import os
from pathlib import Path

import pytest

from flatwater.errors import UserError
from flatwater.server import Binary, find_server
from flatwater.server.binary import read_binary, read_options

#: What servers print for --version, as distributed.
VERSIONS = {
    "mysqld  Ver 5.5.9 for linux2.6 on x86_64 (MySQL Community Server (GPL))": ("mysql", (5, 5, 9)),
    "/usr/sbin/mysqld  Ver 8.0.36 for Linux on x86_64 (MySQL Community Server - GPL)": ("mysql", (8, 0, 36)),
    "/usr/sbin/mysqld  Ver 8.0.36-0ubuntu0.22.04.1 for Linux on x86_64 ((Ubuntu))": ("mysql", (8, 0, 36)),
    "mysqld  Ver 8.0.35-27 for Linux on x86_64 (Percona Server (GPL), Release 27)": ("percona", (8, 0, 35)),
    "mysqld  Ver 5.5.27-rel29.0 for Linux on x86_64 (Percona Server (GPL), 29.0)": ("percona", (5, 5, 27)),
    "mariadbd  Ver 10.11.6-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64": ("mariadb", (10, 11, 6)),
    "mysqld  Ver 5.5.68-MariaDB for Linux on x86_64 (MariaDB Server)": ("mariadb", (5, 5, 68)),
}


def _program(folder: Path, says: str, name: str = "mysqld") -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\nprintf '%s\\n' '{says}'\n")
    path.chmod(0o755)
    return path


def test_the_installed_server_is_found_and_says_what_it_is(binary: Binary) -> None:
    assert binary.path.is_absolute()
    assert binary.version >= (5, 5, 0)
    assert binary.version_text.startswith(".".join(map(str, binary.version)))
    assert binary.title.endswith(".".join(map(str, binary.version)))


def test_a_server_lists_its_options(binary: Binary) -> None:
    options = binary.options()
    assert int(options["innodb_buffer_pool_size"]) > 0
    assert "max_connections" in options
    assert not [name for name in options if "-" in name]


def test_it_is_found_by_its_name(binary: Binary) -> None:
    assert find_server(binary.path.name).version == binary.version


@pytest.mark.parametrize("says", VERSIONS)
def test_every_flavour_is_recognised(tmp_path: Path, says: str) -> None:
    found = find_server(str(_program(tmp_path, says)))
    assert (found.flavour, found.version) == VERSIONS[says]


@pytest.mark.parametrize(
    ("version", "own"), [("5.1.65", "innodb-adaptive-checkpoint"), ("5.5.27", "innodb-adaptive-flushing-method")]
)
def test_a_percona_server_that_was_built_from_sources_is_known_by_its_settings(
    tmp_path: Path, version: str, own: str
) -> None:
    path = _program(tmp_path, f"mysqld  Ver {version} for pc-linux-gnu on x86_64 (Source distribution)")
    listed = f"{'-' * 33} {'-' * 30}\\n{own} estimate\\ninnodb-buffer-pool-size 1\\n"
    path.write_text(path.read_text() + f'case "$*" in *--help*) printf -- "{listed}";; esac\n')
    found = find_server(str(path))
    assert (found.flavour, found.title) == ("percona", f"Percona Server {version}")


def test_an_old_server_is_told_what_the_oldest_are(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"the oldest are MariaDB 5\.5, Percona Server 5\.1, MySQL 5\.5"):
        find_server(str(_program(tmp_path, "mysqld  Ver 5.1.73 for linux on x86_64 (MySQL)")))


def test_debians_mysqld_is_mariadb(tmp_path: Path) -> None:
    _program(tmp_path, "mysqld  Ver 10.11.6-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64", "mariadbd")
    (tmp_path / "mysqld").symlink_to("mariadbd")
    assert find_server(str(tmp_path / "mysqld")).title == "MariaDB 10.11.6"


def test_no_server_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("flatwater.server.binary.FOLDERS", (str(tmp_path), str(tmp_path)))
    with pytest.raises(UserError) as caught:
        find_server()
    assert str(caught.value) == (
        "database.binary: no database server is installed here (mariadbd or mysqld) (hint: install one (on Debian and "
        "Ubuntu: the package mariadb-server), or give its path as database.binary)"
    )
    with pytest.raises(UserError, match=r"there is no percona-mysqld on PATH"):
        find_server("percona-mysqld")


@pytest.mark.parametrize(
    ("says", "message"),
    [
        ("mysqld  Ver 5.1.73 for linux on x86_64 (MySQL)", "is MySQL 5.1.73: the oldest that flatwater knows is 5.5"),
        ("mysql  Ver 15.1 Distrib 10.11.6-MariaDB", "is not a MySQL-compatible server: asked for its version, it says"),
        ("postgres (PostgreSQL) 15.5", "is not a MySQL-compatible server"),
        ("", "it says: nothing"),
    ],
)
def test_what_is_no_server_of_use_is_refused(tmp_path: Path, says: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        find_server(str(_program(tmp_path, says)))
    assert caught.value.where == "database.binary"


def test_what_cannot_be_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="does not exist"):
        find_server(str(tmp_path / "absent"))
    with pytest.raises(UserError, match="is not a program that can be run"):
        find_server(str(tmp_path))
    plain = tmp_path / "plain"
    plain.write_text("text")
    with pytest.raises(UserError, match="is not a program that can be run"):
        find_server(str(plain))
    plain.chmod(0o755)
    with pytest.raises(UserError, match=f"cannot run {plain}: Exec format error"):
        find_server(str(plain))
    with pytest.raises(UserError, match=r"cannot use|does not exist"):
        find_server("/" + "x" * 5000)


def test_a_script_that_starts_servers_is_not_asked(tmp_path: Path) -> None:
    script = tmp_path / "mysqld_safe"
    script.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    script.chmod(0o755)
    with pytest.raises(UserError, match="only starts servers"):
        read_binary(script)
    assert not (tmp_path / "started").exists()


def test_missing_libraries_are_told(tmp_path: Path) -> None:
    says = "mysqld: error while loading shared libraries: libaio.so.1: cannot open shared object file: No such file"
    with pytest.raises(UserError, match=r"cannot run .*: libaio\.so\.1: cannot open"):
        find_server(str(_program(tmp_path, says)))


def test_the_table_of_options_is_read() -> None:
    text = (
        "Variables (--variable-name=value)\nand boolean options {FALSE|TRUE}  Value (after reading options)\n"
        f"{'-' * 60} -------------\ninnodb-io-capacity                  200\n"
        "innodb-undo-directory   (No default value)\nwsrep-mode      \ninnodb-flush-neighbors 1\n\nTo see what values\n"
    )
    assert read_options(text) == {
        "innodb_io_capacity": "200",
        "innodb_undo_directory": "",
        "wsrep_mode": "",
        "innodb_flush_neighbors": "1",
    }


def test_options_are_asked_again_when_the_program_changed(tmp_path: Path) -> None:
    path = tmp_path / "mysqld"
    for pages, mtime_s in (("1", 1000), ("2", 2000)):
        path.write_text(
            '#!/bin/sh\ncase "$*" in *--help*)\n'
            f"echo '{'-' * 60} -------------'; echo 'innodb-buffer-pool-size {pages}';;\n"
            "*) echo 'mysqld  Ver 5.5.9 for linux';; esac\n"
        )
        path.chmod(0o755)
        os.utime(path, (mtime_s, mtime_s))
        assert find_server(str(path)).options()["innodb_buffer_pool_size"] == pages
