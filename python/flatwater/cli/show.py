"""`flatwater show`: prints an experiment or a modelled device."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flatwater.cli.arguments import Overrides, complete_either

NAME = "show"
EXAMPLES = """\
[bold]Examples[/bold]

flatwater show fill-level

flatwater show quick > my.toml

flatwater show quick --resolved --set workload.block_size=16KiB

flatwater show virident-tachion-400-slc
"""


def verb(
    file: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="An experiment file, or the name of an experiment or a device.",
            autocompletion=complete_either,
        ),
    ],
    resolved: Annotated[
        bool, typer.Option("--resolved", help="With every default, sizes and durations in plain units.")
    ] = False,
    set_: Overrides = None,
) -> None:
    """Print an experiment or a modelled device: the starting point of your own."""
    from flatwater.errors import UserError
    from flatwater.experiment import find_device, find_experiment, load, names_a_device, read_text, to_toml
    from flatwater.experiment.device.files import device_files
    from flatwater.experiment.library import library_files
    from flatwater.spelling import suggest

    if names_a_device(file):
        if resolved or set_:
            option = "--resolved" if resolved else "--set"
            raise UserError("is for experiments; a device is shown as it stands", where=option, hint="take it out")
        typer.echo(read_text(find_device(file)).rstrip("\n"))
        return
    if "/" not in file and not file.endswith(".toml") and not Path(file).exists():
        names = [*library_files(), *device_files()]
        if file not in names:
            hint = suggest(file, names)
            if not hint.startswith("did you mean"):
                hint = "`flatwater list` and `flatwater list --devices` show all"
            raise UserError(
                "neither a file nor an experiment of the library, nor a modelled device", where=file, hint=hint
            )
    text = to_toml(load(file, set_ or [])) if resolved or set_ else read_text(find_experiment(file))
    typer.echo(text.rstrip("\n"))
