"""`flatwater cache set`: changes settings; of a running cache at once."""

from __future__ import annotations

from typing import Annotated

import typer

from flatwater.cli.arguments import Json
from flatwater.cli.cache.arguments import Name, complete_setting, find, parse_changes, say

NAME = "set"
EXAMPLES = """\
[bold]Examples[/bold]

flatwater cache set db dirty_high_pct=50 dirty_low_pct=40

flatwater cache set db flush_period_s=300 mode=write-through

flatwater cache set db      shows all

They are kept for the next start. docs/cache.md says what each does.
"""


def verb(
    name: Name,
    changes: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SETTING=VALUE...", help="What to change; all or nothing.", autocompletion=complete_setting
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Change settings of a cache, while it serves and for the next start; without any, show them."""
    from flatwater.cache.control import ask, running
    from flatwater.cache.engine import settings_of
    from flatwater.cache.serving import as_text
    from flatwater.cache.state import keep_settings

    state = find(name)
    wanted = parse_changes(changes or [], "SETTING=VALUE")
    # Errors have the same text for a running cache and for one at rest.
    settings = settings_of(state.preset, state.settings | wanted)
    live = running(state.name)
    if wanted:
        if live:
            asked = [list(change) for change in wanted.items()]
            settings = ask(state.name, {"do": "set", "changes": asked})["settings"] or settings
        keep_settings(state.name, wanted)
    elif live:
        settings = ask(state.name, {"do": "status"}).get("settings") or settings
    shown = {one: value for one, value in settings.items() if not wanted or one in wanted}
    width = max((len(one) for one in shown), default=0)
    lines = [f"{one:<{width}}  {as_text(value)}" for one, value in shown.items()]
    if wanted and not live:
        lines.append(f"{state.name} does not run: from its next start on")
    say({"name": state.name, "live": live, "settings": settings}, "\n".join(lines), as_json)
