"""`flatwater cache check`: checks the content of a cache that is not running."""

from __future__ import annotations

from typing import Annotated

import typer

from flatwater.cli.arguments import Json
from flatwater.cli.cache.arguments import Name, find_located, require_resting, say

#: The number of damaged blocks that are printed; --json has all.
_NAMED_MAX = 20
NAME = "check"
EXAMPLES = """\
[bold]Examples[/bold]

flatwater cache check db      also after a crash; nothing is written

flatwater cache check db --quick      metadata only
"""


def verb(
    name: Name,
    quick: Annotated[bool, typer.Option("--quick", help="Do not read the blocks themselves.")] = False,
    as_json: Json = False,
) -> None:
    """Inspect a cache that does not run: what is dirty, and whether every block is what was written.

    Exit 1 if data are lost or damaged.
    """
    from dataclasses import asdict

    from flatwater.cache import engine
    from flatwater.cli.cache.progress import bar
    from flatwater.errors import FlatwaterError
    from flatwater.experiment.units import print_size
    from flatwater.runner.interrupt import watch_signals

    state = find_located(name)
    require_resting(state, "it checks itself as it serves")
    found = engine.require_pair(state)
    if not quick:
        with watch_signals() as interrupt, bar("check", unit_bytes=state.block_bytes, quiet=as_json) as advance:
            found = engine.check(state, stop=lambda: interrupt.requested, progress=advance)
    whole = "stopped cleanly" if found.was_clean else "not stopped: it recovers at its next start"
    lines = [
        f"{state.name}: {whole}, generation {found.generation}",
        f"{found.dirty_blocks:,} of {found.slots:,} blocks are dirty ({print_size(found.dirty_bytes)})",
        f"{found.clean_blocks:,} are clean",
    ]
    if not quick:
        lines.append(f"{found.verified_blocks:,} were read and held against their checksums")
    if found.degraded:
        lines.append("its cache device failed, and writes went past it since")
    lines += found.notes
    clean = len(found.damaged) - len(found.lost)
    if clean:
        lines.append(f"{clean:,} clean blocks are damaged: they are read from {state.backing} anew")
    lines += [f"lost: {state.block_bytes} B at {one.slow_offset}" for one in found.lost[:_NAMED_MAX]]
    safe = found.dirty_blocks == 0 and not found.degraded
    lines.append(f"safe to unplug the cache device: {'yes' if safe else f'no, {found.dirty_blocks:,} dirty blocks'}")
    say({"name": state.name, **asdict(found), "safe_to_unplug": safe}, "\n".join(lines), as_json)
    if found.lost:
        raise FlatwaterError(
            f"{len(found.lost):,} dirty blocks are damaged: they are read as EIO until they are written anew",
            where=state.fast,
            hint="restore these ranges from a backup",
        )
