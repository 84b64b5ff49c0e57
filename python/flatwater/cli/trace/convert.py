"""`flatwater trace convert`: a trace in another format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flatwater.cli.arguments import Json
from flatwater.cli.trace.arguments import Format, Trace, engine_errors

NAME = "convert"
EXAMPLES = """\
[bold]Examples[/bold]

flatwater trace convert hm_0.csv.gz hm_0.trace

flatwater trace convert requests.trace requests.iolog --to iolog

fio --name=replay --read_iolog=requests.iolog --replay_redirect=/dev/sdX ...      then replays it
"""


def verb(
    trace: Trace,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The file to be written; it must not exist.")],
    to: Annotated[str, typer.Option(help="flatwater (compact, binary) or iolog (fio's, version 3).")] = "flatwater",
    format_: Format = None,
    as_json: Json = False,
) -> None:
    """Write a trace in flatwater's own format, or as an iolog for fio.

    An iolog has whole microseconds, no process and no zeros: these become writes.
    """
    import json

    from flatwater._engine import trace_convert

    with engine_errors():
        requests = trace_convert(trace, out, to, format_)
    if as_json:
        typer.echo(json.dumps({"requests": requests, "bytes": out.stat().st_size, "out": str(out)}))
    else:
        typer.echo(f"written: {out}, {requests:,} requests, {out.stat().st_size:,} B")
