"""What a server says that it runs with, as far as it may be kept."""

from __future__ import annotations

import re
from collections.abc import Iterable

# Passwords, keys and certificates, and what names this machine or its users: results are made to be shared.
_SECRET = re.compile(
    r"password|passwd|secret|_key$|ssl_|tls_|_cert|keyring|^hostname$|^report_|^wsrep_|^init_(?:file|connect|slave|replica)$|^socket$|auth_info"
)


def read_variables(rows: Iterable[tuple[str | None, ...]]) -> dict[str, str]:
    """Rows of SHOW GLOBAL VARIABLES as a dictionary, without what could be secret."""
    pairs = ((row[0] or "", row[1] or "") for row in rows if len(row) == 2)
    return {name: value for name, value in pairs if not _SECRET.search(name.lower())}
