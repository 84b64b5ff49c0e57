"""`python -m benchmarks.servers get|list|page [NAME ...]`: the servers of the matrix, and what came out of it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.servers.cache import FOLDER, cache_folder, get, locate
from benchmarks.servers.page import page
from benchmarks.servers.records import read_records
from benchmarks.servers.registry import SERVERS, Server, find
from benchmarks.servers.steps import STEPS
from flatwater.errors import FlatwaterError, UserError

PAGE = Path(__file__).parents[2] / "docs" / "servers-tried.md"


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit codes: 0; 1 if a server that was named cannot be had; 2 for bad arguments; 130 interrupted."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.servers",
        description="Servers for `make test-servers`, in a folder outside of the checkout.",
        epilog=f"{FOLDER} names another folder. FLATWATER_SERVER_NAME names the program of a server of your own.",
    )
    parser.add_argument("verb", choices=("get", "list", "page"), help="page: write docs/servers-tried.md")
    parser.add_argument("names", nargs="*", metavar="NAME", help="servers of the registry; none: all of them")
    options = parser.parse_args(arguments)
    try:
        if options.verb == "page":
            PAGE.write_text(page(SERVERS, STEPS, {server.name: read_records(server.name) for server in SERVERS}))
            print(f"written: {PAGE}")
            return 0
        chosen = [_named(name) for name in options.names]
        missing = _show(chosen or SERVERS, bring=options.verb == "get")
    except FlatwaterError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        return 130
    # Without names, a server that cannot be had is a row of the page, and no failure.
    return 1 if missing and chosen else 0


def _show(servers: Sequence[Server], *, bring: bool) -> int:
    """Prints a line a server; how many are not here."""
    print(f"servers in {cache_folder()}")
    missing = 0
    for server in servers:
        try:
            found = get(server) if bring else locate(server)
            told = f"{found.title}, {found.path}" if found is not None else f"not here: {server.origin.about}"
        except FlatwaterError as error:
            found, told = None, f"not to be had here: {error}"
        missing += found is None
        print(f"{server.name:14} {told}", flush=True)
    return missing


def _named(name: str) -> Server:
    server = find(name)
    if server is None:
        raise UserError(f"there is no server {name}", hint=", ".join(one.name for one in SERVERS))
    return server


if __name__ == "__main__":
    sys.exit(main())
