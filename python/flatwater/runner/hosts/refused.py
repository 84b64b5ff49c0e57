"""Why a load host could not begin: in words that say what it could not do, and this machine could."""

from __future__ import annotations

import re

#: A server's errors for an account that may not log in from where it is: ER_ACCESS_DENIED_ERROR,
#: ER_HOST_NOT_PRIVILEGED, ER_DBACCESS_DENIED_ERROR. An account of MySQL is a user and a host.
_DENIED = re.compile(r"\(error (1045|1130|1044)\)")
_UNREACHABLE = "cannot connect to "


def why_refused(host: str, failure: str | None) -> str:
    """The failure of a host, which this machine did not have: it has logged in to the server before."""
    if failure is None:
        return f"load host {host} ended at once"
    if _DENIED.search(failure):
        hint = "an account is a user and a host: grant it for that host, too, or for '%'"
        return f"load host {host} cannot log in, although this machine can: {failure} (hint: {hint})"
    if _UNREACHABLE in failure:
        hint = "is that the address of the server for this host, and does its firewall let it in?"
        return f"load host {host} cannot reach the server, although this machine can: {failure} (hint: {hint})"
    return f"load host {host}: {failure}"
