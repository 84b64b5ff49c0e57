"""`flatwater ls`: the runs below a folder."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flatwater.cli.stores import Wanted

if TYPE_CHECKING:
    from flatwater.catalogue.listing import Entry

NAME = "ls"
READS = {"folders": Wanted.ALL_SMALL}
EXAMPLES = """
[bold]Examples[/bold]

  flatwater ls                                  all below this folder, the newest first

  flatwater ls results --verdict stalls --since 7d

  flatwater ls results --tag kernel=6.12 --sort mean

  flatwater ls results --json | jq -r '.[].run'
"""
_HEADINGS = ("run", "made", "experiment", "verdict", "mean", "unit", "thresholds", "tags")
_MEAN, _EXPERIMENT = 4, 2
_AGO = re.compile(r"(\d+)\s*([hdw])")
_AGO_S = {"h": 3600, "d": 86_400, "w": 7 * 86_400}


def verb(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(metavar="DIR", help="Results, or folders of them, up to four levels deep (default: this one)."),
    ] = None,
    tags: Annotated[
        list[str] | None,
        typer.Option("--tag", metavar="KEY[=VALUE]", help="Only runs with this tag. Repeatable: with all of them."),
    ] = None,
    verdict: Annotated[
        str | None,
        typer.Option("--verdict", metavar="WORD", help="Only runs with such a cell: flat, dips, stalls, drifting, ..."),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="WHEN", help="Only runs made since then: 7d, 12h, 2w, or 2026-11-01."),
    ] = None,
    order: Annotated[
        str, typer.Option("--sort", metavar="BY", help="date (the newest first), run, name, verdict, or mean.")
    ] = "date",
    reverse: Annotated[bool, typer.Option("--reverse", "-r", help="In the other order.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON array, one object a run.")] = False,
) -> None:
    """List the runs below a folder: when they were made, verdict, mean, thresholds that failed, tags.

    The mean of a sweep is that of its lowest and its highest cell. A run is shown by its path, which other commands
    take. What is no sound result is left out, and named on standard error.
    """
    from flatwater.catalogue.listing import ORDERS, choose, entries, sort
    from flatwater.cli.catalogues import runs_below
    from flatwater.cli.columns import table_lines, terminal_width

    _require_word(order, ORDERS, "--sort")
    if verdict is not None:
        from typing import get_args

        from flatwater.results import Verdict

        _require_word(verdict, get_args(Verdict), "--verdict")
    wanted = [(name, value if given else None) for name, given, value in (one.partition("=") for one in tags or ())]
    moment = parse_since(since) if since is not None else None
    found = choose(entries(runs_below(folders)), tags=wanted, verdict=verdict, since=moment)
    found = sort(found, order, reverse=reverse)
    if as_json:
        # An object a line: to indent them takes Python four times as long.
        typer.echo(",\n".join(json.dumps(entry.as_json()) for entry in found).join(("[", "]")))
        return
    if not found:
        return
    rows = [_row(entry) for entry in found]
    lines = table_lines(_HEADINGS, rows, right={_MEAN}, elastic=_EXPERIMENT, width=terminal_width())
    typer.echo("\n".join(lines))


def _require_word(word: str, words: tuple[str, ...], where: str) -> None:
    from flatwater.errors import UserError
    from flatwater.spelling import suggest

    if word not in words:
        raise UserError(f"there is no {word!r}", where=where, hint=suggest(word, words))


def parse_since(text: str) -> datetime:
    """A day or a time (of this machine's zone if it names none), or how long ago: `7d`. Errors: UserError."""
    from flatwater.errors import UserError

    now = datetime.now(UTC)
    try:
        if ago := _AGO.fullmatch(text.strip()):
            return now - timedelta(seconds=int(ago[1]) * _AGO_S[ago[2]])
        return datetime.fromisoformat(text.strip()).astimezone()
    except (ValueError, OverflowError):
        hint = "7d, 12h, 2w, 2026-11-01 or 2026-11-01T14:00"
        raise UserError(f"{text!r} is no time", where="--since", hint=hint) from None


def _row(entry: Entry) -> tuple[str, ...]:
    made = entry.created_at.astimezone().strftime("%Y-%m-%d %H:%M") if entry.created_at is not None else ""
    tags = " ".join(f"{name}={value}" for name, value in entry.tags.items())
    failed = f"failed: {', '.join(entry.thresholds_failed)}" if entry.thresholds_failed else ""
    return entry.run, made, entry.title or entry.name, entry.verdict, _mean(entry), entry.unit, failed, tags


def _mean(entry: Entry) -> str:
    from flatwater.printing import figure

    if entry.mean_min is None or entry.mean_max is None:
        return ""
    low, high = figure(entry.mean_min), figure(entry.mean_max)
    return high if low == high else f"{low} to {high}"
