"""`flatwater snapshots delete`: deletes snapshots that flatwater made."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from flatwater.cli.snapshots.arguments import (
    Json,
    Keys,
    Storage,
    age_text,
    as_data,
    dataset_text,
    select,
    server_text,
    size_text,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flatwater.server import Inspected

NAME = "delete"
EXAMPLES = """\
[bold]Examples[/bold]

flatwater snapshots delete /mnt/flash 3f2a9c0d1e5b7a86

flatwater snapshots delete /mnt/flash --damaged --yes

flatwater snapshots delete /mnt/flash --all
"""


def verb(
    storage: Storage,
    keys: Keys = None,
    damaged: Annotated[bool, typer.Option("--damaged", help="All that are damaged or were cut short.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="All of them.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Delete without asking.")] = False,
    as_json: Json = False,
) -> None:
    """Delete snapshots. The next run that needs one loads it anew.

    It tells what it would destroy, and asks. What flatwater did not make is never touched.
    """
    from flatwater.errors import UserError
    from flatwater.server import inspect_snapshots, open_root, remove_snapshot, require_no_strangers, storage_of

    place = storage_of(storage)
    if [bool(keys), damaged, everything].count(True) != 1:
        raise UserError("which ones?", where="KEY", hint="give keys, or --damaged, or --all")
    found = inspect_snapshots(place)
    chosen = select(found, keys, storage) if keys else [one for one in found if everything or one.state != "sound"]
    foreign = [one for one in chosen if one.state == "not flatwater's"]
    if foreign and keys:
        raise UserError(foreign[0].faults[0], where=foreign[0].key)
    chosen = [one for one in chosen if one not in foreign]
    for one in chosen:
        require_no_strangers(one.folder)
    if not chosen:
        _say("nothing to delete", [], as_json)
        return
    if not yes and not _is_wanted(chosen, as_json):
        _say("nothing was deleted", [], as_json)
        return
    deleted = []
    with open_root(place) as root:
        for key in dict.fromkeys(one.key for one in chosen):
            remove_snapshot(root, key)
            deleted += [one for one in chosen if one.key == key]
    _say(f"deleted: {', '.join(dict.fromkeys(one.key for one in deleted))}", deleted, as_json)


def _is_wanted(chosen: Sequence[Inspected], as_json: bool) -> bool:
    """Tells what would be destroyed, and asks. Errors: UserError where nobody can answer."""
    from flatwater.errors import UserError

    texts = [
        f"{one.key} ({dataset_text(one.shape)} on {server_text(one.shape)}, {size_text(one.size_bytes)}, "
        f"{age_text(one.made_at)} old, {one.state})"
        for one in chosen
    ]
    if as_json or not sys.stdin.isatty():
        raise UserError(f"would destroy {'; '.join(texts)}", hint="--yes if that is meant")
    for text in texts:
        print(f"would destroy {text}")
    return typer.confirm("Delete?")


def _say(text: str, deleted: Sequence[Inspected], as_json: bool) -> None:
    print(json.dumps({"deleted": [as_data(one) for one in deleted]}, indent=1) if as_json else text)
