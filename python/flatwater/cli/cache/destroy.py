"""`flatwater cache destroy`: removes a cache and the content of its device."""

from __future__ import annotations

from typing import Annotated

import typer

from flatwater.cli.arguments import Json
from flatwater.cli.cache.arguments import Name, find, say

NAME = "destroy"
EXAMPLES = """\
[bold]Examples[/bold]

flatwater cache destroy db

flatwater cache destroy db --discard-dirty 12      throws 12 dirty blocks away: BACKING is then older than it was
"""


def verb(
    name: Name,
    discard_dirty: Annotated[
        int | None,
        typer.Option("--discard-dirty", metavar="BLOCKS", help="So many dirty blocks, as told, may be lost."),
    ] = None,
    gone: Annotated[
        bool, typer.Option("--gone", help="The cache device is gone for good: forget it, and what was dirty.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Destroy a cache that does not run. BACKING stays as it is; refused while anything is dirty."""
    from flatwater.cache.destroy import destroy
    from flatwater.cache.state import alone

    state = find(name)
    with alone():
        lost = destroy(state, discard_dirty=discard_dirty, gone=gone)
    text = f"{state.name} is destroyed"
    older = f"{state.backing} is older than it was"
    if lost is None:
        text += (
            f"; what was dirty on {state.fast} is lost, and nobody can tell how much: {older}, unless that was nothing"
        )
    elif lost:
        text += f"; {lost:,} dirty blocks were {'lost' if gone else 'thrown away'}: {older}"
    else:
        text += f"; {state.backing} is whole without it"
    say({"name": state.name, "destroyed": True, "lost_blocks": lost}, text, as_json)
