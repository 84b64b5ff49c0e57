"""What the verbs share that look at all runs below some folders."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from flatwater.printing import make_console

if TYPE_CHECKING:
    from flatwater.catalogue import Catalogue

#: More folders that were left out than this are only counted.
LEFT_OUT_TOLD = 10


def runs_below(folders: Sequence[Path] | None) -> Catalogue:
    """The runs below the folders (the current one if none is given). What is left out is told on standard error, a
    line each. Errors: UserError for a path that is no folder.
    """
    from flatwater.catalogue import read_catalogue

    # Ten thousand that were never read before take some seconds.
    waiting = make_console(stderr=True).status("reading results...") if sys.stderr.isatty() else nullcontext()
    with waiting:
        catalogue = read_catalogue(list(folders or [Path()]))
    tell_left_out(catalogue.left_out)
    if not catalogue.runs:
        places = ", ".join(str(one) for one in folders or [Path()])
        typer.echo(f"no results in {places} (hint: name the folder that holds them)", err=True)
    return catalogue


def tell_left_out(left_out: Mapping[str, str]) -> None:
    """Names on standard error what is left out, a line each, and counts what would be too many."""
    from flatwater.stores import shown

    told = list(left_out.items())
    for run, why in told[:LEFT_OUT_TOLD]:
        why = shown(why)
        text = why if why.startswith(run) else f"{run}: {why}"
        typer.echo(f"left out: {' '.join(text.split())}", err=True)
    if len(told) > LEFT_OUT_TOLD:
        typer.echo(f"left out: {len(told) - LEFT_OUT_TOLD:,} more", err=True)
