"""`flatwater cache preload`: reads ranges into the cache before the first requests for them."""

from __future__ import annotations

from typing import Annotated

import typer

from flatwater.cli.arguments import Json
from flatwater.cli.cache.arguments import Name, find, parse_range, say

NAME = "preload"
EXAMPLES = """\
[bold]Examples[/bold]

flatwater cache preload db 0..4GiB

flatwater cache preload db all --background
"""


def verb(
    name: Name,
    range_: Annotated[str, typer.Argument(metavar="RANGE", help="10GiB+1GiB (from, length), 0..1GiB, or all.")],
    background: Annotated[bool, typer.Option("--background", help="Do not wait for the end.")] = False,
    as_json: Json = False,
) -> None:
    """Read a range of the device into the cache, as far as there is room: no warm-up."""
    from flatwater.cache.control import ask
    from flatwater.cli.cache.progress import follow_job

    state = find(name)
    begin, length = parse_range(range_, state, "RANGE")
    job = ask(state.name, {"do": "preload", "range": [begin, length]})["job"]
    outcome: dict[str, object] = {"name": state.name, "job": job, "state": "running"}
    if background:
        return say(outcome, f"preload {job} is under way: flatwater cache status {state.name}", as_json)
    found = follow_job(state.name, job, "preload", unit_bytes=state.block_bytes, quiet=as_json)
    return say(outcome | found, f"{state.name}: {range_} is in the cache, as far as there is room", as_json)
