"""How a verb becomes part of the program."""

from __future__ import annotations

from typing import Any

import typer


def add_verb(app: typer.Typer, module: Any) -> None:
    """A verb with its help. Only its EXAMPLES are markup: in a sentence, `[cache]` is a table of a file."""
    from rich.markup import escape

    app.command(module.NAME, help=escape(module.verb.__doc__ or ""), epilog=module.EXAMPLES)(module.verb)
