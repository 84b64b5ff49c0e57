"""`flatwater cache record`: records the requests to a running cache as a trace. Also `flatwater trace record`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flatwater.cli.arguments import Json
from flatwater.cli.cache.arguments import Name, find, say

NAME = "record"
EXAMPLES = """\
[bold]Examples[/bold]

flatwater cache record db requests.trace      from now on; goes on where the trace ends, and through restarts

flatwater cache record db --stop

flatwater trace show requests.trace      docs/traces.md tells what else can be done with it
"""


def verb(
    name: Name,
    trace: Annotated[
        Path | None, typer.Argument(metavar="TRACE", help="Where to; not on the cached device itself.")
    ] = None,
    stop: Annotated[bool, typer.Option("--stop", help="Record no more.")] = False,
    as_json: Json = False,
) -> None:
    """Record what a running cache is asked, until --stop or its end. Who asks does not wait for it."""
    from flatwater.cache.control import ask
    from flatwater.cache.start import check_record
    from flatwater.errors import UserError

    state = find(name)
    if stop == (trace is not None):
        raise UserError("give a TRACE to record to, or --stop", where="TRACE", hint=f"flatwater cache {NAME} --help")
    before = ask(state.name, {"do": "status"})
    path = check_record(trace, before["mount"], "TRACE") if trace is not None else None
    ask(state.name, {"do": "record", "path": path})
    if path is not None:
        text = f"{state.name}: requests are recorded to {path}; flatwater cache record {state.name} --stop"
    elif before["record"]:
        text = f"{state.name}: {before['record']} is whole; flatwater trace show {before['record']}"
    else:
        text = f"{state.name}: nothing was being recorded"
    say({"name": state.name, "record": path, "recorded": before["record"]}, text, as_json)
