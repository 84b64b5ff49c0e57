"""`flatwater cache flush`: writes back what is dirty, now."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from flatwater.cli.arguments import Json
from flatwater.cli.cache.arguments import Name, find, parse_range, say

if TYPE_CHECKING:
    from flatwater.cache.messages import Request

NAME = "flush"
EXAMPLES = """\
[bold]Examples[/bold]

flatwater cache flush db      waits, with progress; Ctrl-C ends it, and what was written back is

flatwater cache flush db --background      returns; `flatwater cache status db` tells how far it is, and when it ended

flatwater cache flush db --stop

flatwater cache flush db --range 0..10GiB
"""


def verb(
    name: Name,
    background: Annotated[bool, typer.Option("--background", help="Do not wait for the end.")] = False,
    stop: Annotated[bool, typer.Option("--stop", help="End the flushes that are under way.")] = False,
    range_: Annotated[
        str | None, typer.Option("--range", metavar="FROM+LENGTH", help="Only this: 10GiB+1GiB, or 0..1GiB.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write back everything that is dirty now, to the end, and say so. The cache goes on serving."""
    from flatwater.cache.control import ask
    from flatwater.cli.cache.progress import follow_job

    state = find(name)
    if stop:
        stopped = ask(state.name, {"do": "stop-flush"})["stopped"]
        text = f"{len(stopped)} flushes were ended" if stopped else "no flush is under way"
        return say({"name": state.name, "stopped": stopped}, text, as_json)
    request: Request = {"do": "flush"}
    if range_ is not None:
        request["range"] = list(parse_range(range_, state, "--range"))
    job = ask(state.name, request)["job"]
    if background:
        text = f"flush {job} is under way: flatwater cache status {state.name}"
        return say({"name": state.name, "job": job, "state": "running"}, text, as_json)
    try:
        found = follow_job(state.name, job, "flush", unit_bytes=state.block_bytes, quiet=as_json)
    except KeyboardInterrupt:
        ask(state.name, {"do": "stop-flush"})
        print(f"\nthe flush of {state.name} was ended; what was written back is", file=sys.stderr)
        raise
    return say({"name": state.name, **found}, f"{state.name}: what was dirty is written back", as_json)
