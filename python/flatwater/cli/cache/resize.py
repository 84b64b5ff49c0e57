"""`flatwater cache resize`: uses more or less of the cache device."""

from __future__ import annotations

from typing import Annotated

import typer

from flatwater.cli.arguments import Json
from flatwater.cli.cache.arguments import Name, find, parse_bytes, say

NAME = "resize"
EXAMPLES = """\
[bold]Example[/bold]

flatwater cache resize db 5GiB      what must leave is written back first; the cache goes on serving
"""


def verb(
    name: Name,
    size: Annotated[str, typer.Argument(metavar="SIZE", help="Of the cache device, to be used: 5GiB.")],
    as_json: Json = False,
) -> None:
    """Use more or less of the cache device, while it serves."""
    from flatwater.cache.control import ask
    from flatwater.cli.cache.progress import follow_job
    from flatwater.errors import UserError
    from flatwater.experiment.units import print_size
    from flatwater.place import open_place

    state = find(name)
    wanted = parse_bytes(size, "SIZE") or 0
    fast = open_place(state.fast, "SIZE")
    if fast is not None and wanted > fast.bytes:
        told = f"{print_size(wanted)} are more than the {print_size(fast.bytes)} of {state.fast}"
        raise UserError(told, where="SIZE", hint="make the cache device larger first, or a smaller size")
    job = ask(state.name, {"do": "resize", "bytes": wanted})["job"]
    found = follow_job(state.name, job, "resize", unit_bytes=state.block_bytes, quiet=as_json)
    say({"name": state.name, **found}, f"{state.name} uses {print_size(wanted)} of {state.fast} now", as_json)
