"""`flatwater cache pin`: keeps ranges in the cache."""

from __future__ import annotations

from typing import Annotated

import typer

from flatwater.cli.arguments import Json
from flatwater.cli.cache.arguments import Name, find, parse_range, say

NAME = "pin"
EXAMPLES = """\
[bold]Examples[/bold]

flatwater cache pin db 0..64MiB      say, the file system's metadata, or an index

flatwater cache pin db 0..64MiB --release
"""


def verb(
    name: Name,
    range_: Annotated[str, typer.Argument(metavar="RANGE", help="10GiB+1GiB (from, length), 0..1GiB, or all.")],
    release: Annotated[bool, typer.Option("--release", help="Let it leave the cache again.")] = False,
    as_json: Json = False,
) -> None:
    """Read a range into the cache and never evict it, until it is released; a restart changes nothing."""
    from flatwater.cache.control import ask
    from flatwater.cli.cache.progress import follow_job
    from flatwater.errors import UserError
    from flatwater.experiment.units import print_size

    state = find(name)
    begin, length = parse_range(range_, state, "RANGE")
    if not release and length >= state.in_use_bytes:
        told = f"{print_size(length)} do not fit a cache of {print_size(state.in_use_bytes)}"
        raise UserError(told, where="RANGE", hint="pin less")
    kind = "unpin" if release else "pin"
    job = ask(state.name, {"do": kind, "range": [begin, length]})["job"]
    found = follow_job(state.name, job, kind, unit_bytes=state.block_bytes, quiet=as_json)
    what = "may leave the cache again" if release else "stays in the cache"
    say({"name": state.name, **found}, f"{state.name}: {range_} {what}", as_json)
