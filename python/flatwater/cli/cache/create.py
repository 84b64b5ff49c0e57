"""`flatwater cache create`: makes a cache from a fast and a slow device."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flatwater.cli.arguments import Json
from flatwater.cli.cache.arguments import Preset, Settings, parse_bytes, parse_changes, say

NAME = "create"
EXAMPLES = """\
[bold]Examples[/bold]

flatwater cache create /fast/cache /slow/disk.img --name db --size 10GiB

flatwater cache create /dev/nvme0n1p3 /dev/sdb --name db --block-size 16KiB --preset vcache --set dirty_high_pct=50

What is on BACKING stays, and is what the cache serves. FAST must hold nothing, or --force.
"""


def verb(
    fast: Annotated[Path, typer.Argument(metavar="FAST", help="The cache device; a file is made if it is missing.")],
    backing: Annotated[Path, typer.Argument(metavar="BACKING", help="The file or block device to be cached.")],
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="What it is called from now on.")],
    block_size: Annotated[str, typer.Option("--block-size", help="4KiB to 64KiB: the database's page.")] = "16KiB",
    size: Annotated[str | None, typer.Option("--size", help="Use so much of FAST; all of it if left out.")] = None,
    preset: Preset = None,
    set_: Settings = None,
    pair: Annotated[
        Path | None, typer.Option("--pair", metavar="FILE", help="Where to keep whose BACKING is; beside it, usually.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite what is on FAST; take BACKING from another cache.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Make a cache: a fast device in front of a slow one. Nothing is served until it is started."""
    from flatwater.cache.create import Wanted, create
    from flatwater.cache.engine import settings_of
    from flatwater.cache.state import alone
    from flatwater.experiment.units import print_size

    wanted = Wanted(
        fast=fast,
        backing=backing,
        name=name,
        block_bytes=parse_bytes(block_size, "--block-size") or 0,
        size_bytes=parse_bytes(size, "--size"),
        preset=preset,
        settings=parse_changes(set_ or [], "--set"),
        pair=pair,
        force=force,
    )
    with alone():
        state = create(wanted)
    settings = settings_of(state.preset, state.settings)
    told = {
        "name": state.name,
        "uuid": state.uuid,
        "fast": state.fast,
        "fast_bytes": state.fast_bytes,
        "backing": state.backing,
        "slow_bytes": state.slow_bytes,
        "pair": state.pair,
        "block_bytes": state.block_bytes,
        "settings": settings,
    }
    text = (
        f"{state.name}: {print_size(state.fast_bytes)} of {state.fast} cache {print_size(state.slow_bytes)} of "
        f"{state.backing}, in blocks of {print_size(state.block_bytes)}, {settings['mode']}\n"
        f"start it:  flatwater cache start {state.name} --mount DIR"
    )
    say(told, text, as_json)
