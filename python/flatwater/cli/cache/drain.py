"""`flatwater cache drain`: writes back the dirty blocks of a cache that is not running."""

from __future__ import annotations

from flatwater.cli.arguments import Json
from flatwater.cli.cache.arguments import Name, TrustBacking, find_located, require_resting, say

NAME = "drain"
EXAMPLES = """\
[bold]Example[/bold]

flatwater cache drain db      also after a crash; no mount and no server are needed
"""


def verb(name: Name, trust_backing: TrustBacking = False, as_json: Json = False) -> None:
    """Write everything dirty of a cache that does not run to its backing device. Ctrl-C loses nothing."""
    from dataclasses import asdict, replace

    from flatwater.cache import engine
    from flatwater.cache.guard import claimed
    from flatwater.cache.locate import identified
    from flatwater.cache.state import keep_changes, keep_dirty
    from flatwater.cli.cache.progress import bar
    from flatwater.errors import FlatwaterError
    from flatwater.experiment.units import print_size
    from flatwater.runner.interrupt import watch_signals

    state = find_located(name)
    require_resting(state, "`flatwater cache flush` does it while it serves")
    engine.require_pair(state, trust=trust_backing)
    with (
        claimed(state),
        watch_signals() as interrupt,
        bar("drain", unit_bytes=state.block_bytes, quiet=as_json) as advance,
    ):
        found = engine.drain(state, stop=lambda: interrupt.requested, progress=advance, trust=trust_backing)
    if state.dirty_blocks is not None or not found.damaged:
        keep_dirty(state.name, len(found.damaged))
    if trust_backing:
        # The devices may have new names.
        keep_changes(state, replace(identified(state), dirty_blocks=len(found.damaged)))
    text = f"{state.name}: {found.written_blocks:,} blocks ({print_size(found.written_blocks * state.block_bytes)}) "
    text += "were written back"
    if not found.damaged:
        text += f"; {state.backing} is whole without the cache"
    say({"name": state.name, **asdict(found), "safe_to_unplug": not found.damaged}, text, as_json)
    if found.damaged:
        raise FlatwaterError(
            f"{len(found.damaged):,} dirty blocks are damaged and stay",
            where=state.fast,
            hint=f"flatwater cache check {state.name} names them",
        )
