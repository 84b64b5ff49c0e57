"""`flatwater cache start`: serves a cache."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from flatwater.cli.arguments import Json
from flatwater.cli.cache.arguments import Name, TrustBacking, say

NAME = "start"
EXAMPLES = """\
[bold]Examples[/bold]

flatwater cache start db --mount /mnt/db

flatwater cache start db --mount /mnt/db --nbd /run/db.nbd --record /tmp/db.trace

flatwater cache start /dev/nvme0n1p3 --backing /dev/sdb --mount /mnt/db      its state was lost, or is elsewhere

The cached device is DIR/cached. A file system on it:
losetup --find --show --direct-io=on --sector-size 4096 DIR/cached
"""


def verb(
    name: Name,
    mount: Annotated[
        Path | None, typer.Option("--mount", metavar="DIR", help="Serve it as DIR/cached; DIR must be empty.")
    ] = None,
    nbd: Annotated[
        Path | None, typer.Option("--nbd", metavar="SOCKET", help="Serve it over NBD on a unix socket.")
    ] = None,
    record: Annotated[
        Path | None, typer.Option("--record", metavar="TRACE", help="Write a block trace of what is asked.")
    ] = None,
    give_up: Annotated[
        bool, typer.Option("--give-up-dirty", help="Of a cache device that had failed: without what was dirty on it.")
    ] = False,
    trust_backing: TrustBacking = False,
    foreground: Annotated[bool, typer.Option("--foreground", help="Stay here; Ctrl-C stops it.")] = False,
    backing: Annotated[
        str | None, typer.Option("--backing", metavar="BACKING", help="For a cache that is not known here.")
    ] = None,
    called: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Call a cache so that is not known here.")
    ] = None,
    pair: Annotated[
        str | None, typer.Option("--pair", metavar="FILE", help="Its pairing record, if that is not beside BACKING.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Serve a cache as a file, over NBD, or both, in a process of its own that outlives this one."""
    from flatwater.cache.create import adopt
    from flatwater.cache.mounting import DEVICE_FILE
    from flatwater.cache.start import Start, launch, log_path, prepare, run_here
    from flatwater.cache.state import alone, find_state
    from flatwater.errors import UserError

    with alone():
        try:
            state = find_state(name)
            if backing is not None:
                raise UserError(
                    f"cache {state.name} is known, with {state.backing}", where="--backing", hint="leave it out"
                )
        except UserError:
            if "/" not in name or (backing is not None and _is_known(name)):
                raise
            state = adopt(name, backing, called, pair)
        task, notes = prepare(Start(state, mount, nbd, record, give_up, trust_backing))
        for note in notes:
            print(note, file=sys.stderr)
        served = {
            "name": state.name,
            "device": f"{task['state']['mount']}/{DEVICE_FILE}" if mount is not None else None,
            "mount": task["state"]["mount"],
            "nbd": task["state"]["nbd"],
            "log": str(log_path(state.name)),
        }
        ways = [f"as {served['device']}"] if mount is not None else []
        ways += [f"over NBD at {served['nbd']}"] if nbd is not None else []
        text = f"{state.name} is served {' and '.join(ways)}"
        if not foreground:
            process = launch(task)
            say(served | process, text, as_json)
            return
    # The other caches may start their own processes. This one serves in the foreground.
    code = run_here(task, lambda: say(served, f"{text}; Ctrl-C stops it", as_json))
    raise typer.Exit(code)


def _is_known(name: str) -> bool:
    from flatwater.cache.state import find_state
    from flatwater.errors import UserError

    try:
        find_state(name)
    except UserError:
        return False
    return True
