"""`flatwater list`: the experiment library, and the modelled devices."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from flatwater.printing import make_console

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
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("name", style="bold", no_wrap=True)
    table.add_column("title")
    table.add_column("cells", justify="right")
    table.add_column("up to", justify="right", no_wrap=True)
    table.add_column("layers")
    for entry in entries:
        used = {layer: what for layer, what in entry.layers.items() if what != "none"}
        # Mixtures are spelled out; most experiments are all real or all modelled.
        mixture = "\n".join(f"{layer} {what}" for layer, what in used.items())
        layers = mixture if len(set(used.values())) > 1 else next(iter(used.values()))
        # What is computed is not waited for: usually some seconds.
        time = print_duration(entry.longest_s) + (" *" if entry.virtual else "  ")
        table.add_row(entry.name, entry.title, f"{entry.cells:,}", time, layers)
    console = make_console()
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
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("name", style="bold", no_wrap=True)
    table.add_column("kind")
    table.add_column("capacity", justify="right", no_wrap=True)
    table.add_column("title")
    for entry in entries:
        table.add_row(entry.name, entry.kind, print_size(entry.capacity), entry.title)
    console = make_console()
    console.print(table)
    console.print("flatwater run NAME --set storage.kind=KIND --set storage.device=DEVICE", style="dim")
