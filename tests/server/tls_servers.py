"""Real servers with TLS for tests: those of the folder of servers, and the plugin that MariaDB may have there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.servers import tls_server
from benchmarks.servers.tls_server import TlsHop, TlsServer

from flatwater.errors import UserError
from flatwater.server import Binary, find_server

#: Where servers of other families may be: a folder each, as their tarballs are packed.
SERVERS = Path(os.environ.get("FLATWATER_SERVERS", "~/.cache/flatwater/servers")).expanduser()
#: MariaDB's plugin for ed25519, which not every package of the server has.
PLUGIN = "auth_ed25519.so"
#: The first MySQL whose packages have OpenSSL 1.1 or later, and so elliptic curves, which flatwater's TLS takes only.
MODERN = (8, 0, 16)


def find_mysql(*, modern: bool) -> Binary | None:
    """The newest MySQL since 8.0 in the folder of servers whose library of TLS is of today, or old. None: no such."""
    found: list[Binary] = []
    for path in sorted(path for folder in ("bin", "*/bin", "usr/sbin") for path in SERVERS.glob(f"*/{folder}/mysqld")):
        try:
            found.append(find_server(str(path)))
        except UserError:
            continue
    mysql = [
        one for one in found if one.flavour == "mysql" and one.version >= (8, 0) and (one.version >= MODERN) == modern
    ]
    return max(mysql, key=lambda one: one.version, default=None)


@contextmanager
def serve_tls(binary: Binary, folder: Path, data: Path | None, *, tls: bool = True) -> Iterator[TlsServer]:
    """A server with TLS, and with the plugin of the folder of servers if that has one."""
    # A server takes plugins of its own version only.
    own = {"plugin_dir": str(SERVERS)} if (SERVERS / PLUGIN).exists() else {}
    with tls_server.serve_tls(binary, folder, data, tls=tls, own=own) as server:
        yield server


@contextmanager
def serve_mysql(folder: Path, *, modern: bool) -> Iterator[TlsServer]:
    """A MySQL whose library of TLS is of today; or an old one, behind a hop with TLS of today. Skips without one."""
    binary = find_mysql(modern=modern)
    if binary is None:
        pytest.skip(f"no {'newer' if modern else 'older'} MySQL since 8.0 in {SERVERS} (FLATWATER_SERVERS)")
    with serve_tls(binary, folder, None) as server:
        if modern:
            yield server
            return
        with closing(TlsHop(server)) as hop:
            yield replace(server, tls_port=hop.port)
