"""`flatwater tag`: tags and a note of a result."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flatwater.cli.arguments import Json

NAME = "tag"
EXAMPLES = """
[bold]Examples[/bold]

  flatwater tag results/monday kernel=6.12 owner=ann

  flatwater tag results/monday --note "after the new firmware"

  flatwater tag results/monday --remove owner

  flatwater tag results/monday              what it has

  flatwater ls results --tag kernel=6.12
"""


def verb(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The result folder.")],
    tags: Annotated[
        list[str] | None, typer.Argument(metavar="KEY=VALUE", help="Tags to set; one that is there is replaced.")
    ] = None,
    removed: Annotated[
        list[str] | None, typer.Option("--remove", metavar="KEY", help="A tag to take away. Repeatable.")
    ] = None,
    note: Annotated[
        str | None, typer.Option("--note", metavar="TEXT", help='Replace the note; "" takes it away.')
    ] = None,
    as_json: Json = False,
) -> None:
    """Give a result tags and a note, and print those that it has then.

    They are kept in the result folder, in a file of their own (tags.json): what was measured is not touched. `ls`,
    `query` and the report show them.
    """
    from flatwater.results.opening import read_manifest, require_result
    from flatwater.results.tags import change_tags, parse_tag, read_tags

    given = dict(parse_tag(one, one) for one in tags or ())
    if given or removed or note is not None:
        found = change_tags(run, given, removed or (), note)
    else:
        require_result(run)
        read_manifest(run)
        found = read_tags(run)
    if as_json:
        typer.echo(found.model_dump_json(include={"tags", "note"}))
        return
    for name, value in found.tags.items():
        typer.echo(f"{name}={value}")
    if found.note:
        typer.echo(f"note: {found.note}")
