"""`flatwater show`: an experiment's text."""

from __future__ import annotations

from typing import Annotated

import typer

from flatwater.cli.arguments import ExperimentFile, Overrides

NAME = "show"
EXAMPLES = """\
[bold]Examples[/bold]

flatwater show fill-level

flatwater show quick > my.toml

flatwater show quick --resolved --set workload.block_size=16KiB
"""


def verb(
    file: ExperimentFile,
    resolved: Annotated[
        bool, typer.Option("--resolved", help="With every default, sizes and durations in plain units.")
    ] = False,
    set_: Overrides = None,
) -> None:
    """Print an experiment: the starting point of your own."""
    from flatwater.experiment import find_experiment, load, read_text, to_toml

    text = to_toml(load(file, set_ or [])) if resolved or set_ else read_text(find_experiment(file))
    typer.echo(text.rstrip("\n"))
