"""Adds a verb to the program."""

from __future__ import annotations

from typing import Any

import typer


def add_verb(app: typer.Typer, module: Any) -> None:
    """Adds a verb with its help. Only its EXAMPLES are markup: in other text, `[cache]` is a table of a file."""
    from rich.markup import escape

    app.command(module.NAME, help=escape(module.verb.__doc__ or ""), epilog=module.EXAMPLES)(module.verb)
