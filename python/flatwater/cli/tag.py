"""`flatwater tag`: tags and a note of a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flatwater.cli.arguments import Json

if TYPE_CHECKING:
    from flatwater.results.tags import Tags

NAME = "tag"
TAKES = ("run",)
EXAMPLES = """
[bold]Examples[/bold]

  flatwater tag results/monday kernel=6.12 owner=ann

  flatwater tag results/monday --note "after the new firmware"

  flatwater tag results/monday --remove owner

  flatwater tag results/monday              what it has

  flatwater tag s3://bucket/results/monday kernel=6.12

  flatwater ls results --tag kernel=6.12
"""


def verb(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The result folder, or s3://BUCKET/PREFIX.")],
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

    They are kept in the result, in a file of their own (tags.json): what was measured is not touched. `ls`, `query` and
    the report show them. Two who change them at once both do.
    """
    from flatwater.results.tags import parse_tag

    given = dict(parse_tag(one, one) for one in tags or ())
    changes = bool(given or removed or note is not None)
    found = _changed(run, given, removed or (), note) if changes else _read(run)
    if as_json:
        typer.echo(found.model_dump_json(include={"tags", "note"}))
        return
    for name, value in found.tags.items():
        typer.echo(f"{name}={value}")
    if found.note:
        typer.echo(f"note: {found.note}")


def _changed(run: Path, given: Mapping[str, str], removed: Sequence[str], note: str | None) -> Tags:
    from flatwater.cli.stores import is_stored, warn_of_own_tags
    from flatwater.results.tags import change_tags

    if not is_stored(run):
        return change_tags(run, given, removed, note)
    from flatwater.stores.tagging import change_tags_at

    found = change_tags_at(run, given, removed, note)
    warn_of_own_tags(run, found)
    return found


def _read(run: Path) -> Tags:
    from flatwater.cli.stores import is_stored
    from flatwater.results.opening import read_manifest, require_result
    from flatwater.results.tags import read_tags

    if is_stored(run):
        from flatwater.stores.tagging import tags_at

        return tags_at(run)
    require_result(run)
    read_manifest(run)
    return read_tags(run)
