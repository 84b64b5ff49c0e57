"""`flatwater list`: the experiment library, and the modelled devices."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Annotated

import typer

from flatwater.printing import counted, make_console

if TYPE_CHECKING:
    from rich.console import Console

    from flatwater.experiment import LibraryEntry

#: With less room, columns of a table would be cut or broken into single words.
TABLE_COLUMNS_MIN = 110
#: Into a file or a pipe, nothing is broken.
FILE_COLUMNS = 240

NAME = "list"
EXAMPLES = """\
[bold]Examples[/bold]

flatwater list

flatwater list --json

flatwater list --devices

flatwater show fill-level
"""


def verb(
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON array.")] = False,
    devices: Annotated[bool, typer.Option("--devices", help="List the modelled devices instead.")] = False,
) -> None:
    """List the experiments that come with flatwater, or its modelled devices."""
    if devices:
        _list_devices(as_json)
    else:
        _list_experiments(as_json)


def wide_console() -> Console:
    """A console that is as wide as a table needs where there is no terminal: a line an entry, for grep."""
    console = make_console()
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = FILE_COLUMNS
    return console


def _stack(console: Console, name: str, title: str, facts: str) -> None:
    """An entry where there is no room for a table: nothing of it is cut."""
    from rich.padding import Padding

    console.print(name, style="bold", overflow="fold")
    console.print(Padding(title, (0, 0, 0, 2)))
    console.print(Padding(facts, (0, 0, 0, 2)), style="dim")


def _layers(entry: LibraryEntry, between: str) -> str:
    """Which layers are real. Mixtures are spelled out; most experiments are all real or all modelled."""
    used = {layer: what for layer, what in entry.layers.items() if what != "none"}
    mixture = between.join(f"{layer} {what}" for layer, what in used.items())
    return mixture if len(set(used.values())) > 1 else next(iter(used.values()))


def _list_experiments(as_json: bool) -> None:
    from rich import box
    from rich.table import Table

    from flatwater.experiment import library, print_duration

    entries = library()
    if as_json:
        told = [
            {
                "name": entry.name,
                "title": entry.title,
                "about": entry.about,
                "cells": entry.cells,
                "longest_s": entry.longest_s,
                "virtual_time": entry.virtual,
                "layers": entry.layers,
                "path": str(entry.path),
            }
            for entry in entries
        ]
        typer.echo(json.dumps(told, indent=2))
        return
    console = wide_console()
    if console.width < TABLE_COLUMNS_MIN:
        for entry in entries:
            time = print_duration(entry.longest_s) + (" of virtual time" if entry.virtual else "")
            cells = counted(entry.cells, "cell")
            _stack(console, entry.name, entry.title, f"{cells}, {time}, {_layers(entry, ', ')}")
        console.print("flatwater run NAME --set storage.path=DIR", style="dim")
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("name", style="bold", no_wrap=True)
    table.add_column("title")
    table.add_column("cells", justify="right")
    table.add_column("up to", justify="right", no_wrap=True)
    table.add_column("layers")
    for entry in entries:
        # What is computed is not waited for: usually some seconds.
        time = print_duration(entry.longest_s) + (" *" if entry.virtual else "  ")
        table.add_row(
            entry.name, entry.title, f"{entry.cells:,}", time, _layers(entry, "\n" if console.is_terminal else ", ")
        )
    console.print(table)
    console.print("* of virtual time: computed, not waited for", style="dim")
    console.print("flatwater run NAME --set storage.path=DIR", style="dim")


def _list_devices(as_json: bool) -> None:
    from rich import box
    from rich.table import Table

    from flatwater.experiment import list_devices, print_size

    entries = list_devices()
    if as_json:
        told = [
            {
                "name": entry.name,
                "kind": entry.kind,
                "capacity_bytes": entry.capacity,
                "title": entry.title,
                "about": entry.about,
                "path": str(entry.path),
            }
            for entry in entries
        ]
        typer.echo(json.dumps(told, indent=2))
        return
    console = wide_console()
    if console.width < TABLE_COLUMNS_MIN:
        for entry in entries:
            _stack(console, entry.name, entry.title, f"{entry.kind}, {print_size(entry.capacity)}")
        console.print("flatwater run NAME --set storage.kind=KIND --set storage.device=DEVICE", style="dim")
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("name", style="bold", no_wrap=True)
    table.add_column("kind")
    table.add_column("capacity", justify="right", no_wrap=True)
    table.add_column("title")
    for entry in entries:
        table.add_row(entry.name, entry.kind, print_size(entry.capacity), entry.title)
    console.print(table)
    console.print("flatwater run NAME --set storage.kind=KIND --set storage.device=DEVICE", style="dim")
