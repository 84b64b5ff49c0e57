"""`flatwater cache stop`: stops serving; dirty data stay in the cache unless they are drained."""

from __future__ import annotations

import sys
import time
from typing import Annotated, Any

import typer

from flatwater.cli.arguments import Json
from flatwater.cli.cache.arguments import Name, find, say

NAME = "stop"
EXAMPLES = """\
[bold]Examples[/bold]

flatwater cache stop db

flatwater cache stop db --drain      afterwards the cache device may go, and BACKING be used without it
"""


def verb(
    name: Name,
    drain: Annotated[bool, typer.Option("--drain", help="Write everything dirty back first.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Also when somebody uses the mount: their next request fails.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Stop serving a cache. What is dirty stays in it, safely, and is told; --drain writes it back."""
    from flatwater.cache.control import ask, ask_job, running
    from flatwater.cache.state import read_process
    from flatwater.cli.cache.progress import bar, follow_job
    from flatwater.errors import FlatwaterError

    state = find(name)
    process = read_process(state.name)
    refused = False
    job: int | None = None
    if drain:
        # Drained while it still serves: users need not wait without the device, and Ctrl-C changes nothing here.
        try:
            job = ask(state.name, {"do": "flush"})["job"]
            follow_job(state.name, job, "drain", unit_bytes=state.block_bytes, quiet=as_json)
        except KeyboardInterrupt:
            ask(state.name, {"do": "stop-flush"})
            raise
        except FlatwaterError as error:
            if job is None or ask_job(state.name, job)["state"] != "failed":
                raise
            # The drain failed, and the data that stay dirty are safe.
            refused = True
            print(error, file=sys.stderr)
    ask(state.name, {"do": "stop", "drain": drain and not refused, "force": force})
    with bar("stop", unit_bytes=state.block_bytes, quiet=as_json) as told:
        while process is not None and process.alive and running(state.name):
            _look(state.name, told)
            time.sleep(0.1)
    found = _rest(state)
    told_json: dict[str, object] = {"name": state.name, "stopped": True, "dirty_blocks": None, "safe_to_unplug": None}
    text = f"{state.name} is stopped"
    if found is None:
        say(told_json, f"{text}; `flatwater cache check {state.name}` tells what is in it", as_json)
        return
    from flatwater.experiment.units import print_size

    told_json |= {"dirty_blocks": found.dirty_blocks, "safe_to_unplug": found.dirty_blocks == 0}
    if found.dirty_blocks:
        text += (
            f"; {found.dirty_blocks:,} dirty blocks ({print_size(found.dirty_bytes)}) stay in the cache: do not use "
            f"{state.backing} without it (flatwater cache drain {state.name})"
        )
    else:
        text += f"; nothing is dirty: {state.backing} is whole without it"
    say(told_json, text, as_json)
    if drain and found.dirty_blocks:
        raise FlatwaterError(
            f"{found.dirty_blocks:,} blocks could not be written back to {state.backing}",
            hint=f"is it full? Then flatwater cache drain {state.name}; its log tells more",
        )


def _look(name: str, told: Any) -> None:
    from flatwater.cache.control import ask
    from flatwater.errors import FlatwaterError

    try:
        statistics = ask(name, {"do": "status"}, timeout_s=2.0).get("statistics") or {}
    except (FlatwaterError, ValueError):
        return
    told(statistics.get("flush_blocks_done", 0), statistics.get("flush_blocks", 0))


def _rest(state: Any) -> Any:
    """The current content of the cache; None if it cannot be read."""
    from flatwater.cache import engine
    from flatwater.errors import FlatwaterError

    try:
        # The next start checks whether this is the right backing device.
        return engine.require_pair(state, trust=True)
    except FlatwaterError:
        return None
