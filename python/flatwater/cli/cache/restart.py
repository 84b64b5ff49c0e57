"""`flatwater cache restart`: replaces the serving process while the cache is mounted."""

from __future__ import annotations

import time

from flatwater.cli.arguments import Json
from flatwater.cli.cache.arguments import Name, find, say

NAME = "restart"
EXAMPLES = """\
[bold]Example[/bold]

flatwater cache restart db      after an upgrade of flatwater; whoever reads and writes notices a moment's delay
"""
#: Seconds for a restart: it reads a journal, and the machine may be busy.
_PATIENCE_S = 120.0


def verb(name: Name, as_json: Json = False) -> None:
    """Restart or upgrade a cache's processes while it is mounted and in use: no request fails."""
    from flatwater.cache.control import ask
    from flatwater.errors import FlatwaterError

    state = find(name)
    begun = time.monotonic()
    before = ask(state.name, {"do": "restart"})["restarts"]
    while time.monotonic() < begun + _PATIENCE_S:
        try:
            now = ask(state.name, {"do": "status"}, timeout_s=10.0)
        except (FlatwaterError, ValueError):
            now = {"state": "restarting", "restarts": before}
        if now["state"] == "serving" and now["restarts"] > before:
            took_s = time.monotonic() - begun
            told = {"name": state.name, "serving_process": now["serving_process"], "took_s": took_s}
            say(told, f"{state.name} is served by process {now['serving_process']} now ({took_s:.1f} s)", as_json)
            return
        time.sleep(0.1)
    raise FlatwaterError(f"cache {state.name} does not serve again", hint="flatwater cache status tells more")
