"""Tables of Markdown from texts that may come from anywhere."""

from __future__ import annotations

from collections.abc import Sequence


def table_text(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; texts stay in their cells."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell_text(text) for text in line)} |" for line in lines)


def cell_text(text: object) -> str:
    """Text from a file for a table: on one line, without characters that would end the cell."""
    return " ".join(str(text or "").split()).replace("|", "\\|").replace("<", "&lt;").rstrip(".")
