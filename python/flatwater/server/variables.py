"""The values that a server runs with: those that may be kept, and those that differ from what was asked for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from flatwater.server.sizes import read_size

# Passwords, keys, certificates, and names of this machine or its users. They are left out, because results are shared.
_SECRET = re.compile(
    r"password|passwd|secret|_key$|ssl_|tls_|_cert|keyring|^hostname$|^report_|^wsrep_|^init_(?:file|connect|slave|replica)$|^socket$|auth_info"
)


def read_variables(rows: Iterable[tuple[str | None, ...]]) -> dict[str, str]:
    """Rows of SHOW GLOBAL VARIABLES as a dictionary, without what could be secret."""
    pairs = ((row[0] or "", row[1] or "") for row in rows if len(row) == 2)
    return {name: value for name, value in pairs if not _SECRET.search(name.lower())}


def adjusted_settings(asked: Mapping[str, str], runs_with: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """The settings that a server runs with another value of: name -> (asked for, got)."""
    return {
        name: (value, runs_with[name])
        for name, value in asked.items()
        # For the name of the binary log's files, the server reports whether there is a binary log.
        if name in runs_with and name != "log_bin" and not _is_same_value(value, runs_with[name])
    }


_TRUE, _FALSE = {"on", "true", "1", "yes"}, {"off", "false", "0", "no"}
_NUMBER = re.compile(r"-?\d+(\.\d+)?")


def _is_same_value(asked: str, got: str) -> bool:
    """Whether a value of my.cnf and one of SHOW VARIABLES are the same."""
    left, right = asked.lower(), got.lower()
    if left == right or {left, right} <= _TRUE or {left, right} <= _FALSE:
        return True
    size = read_size(asked)
    if size is not None and got.isdigit():
        return size == int(got)
    if _NUMBER.fullmatch(left) and _NUMBER.fullmatch(right):
        return float(left) == float(right)
    # The server reports an enumeration by name where my.cnf had a number, and the other way round.
    return left.isdigit() != right.isdigit()
