"""`flatwater show`: an experiment's text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

NAME = "show"
EXAMPLES = """\
[bold]Examples[/bold]

flatwater show fill-level

flatwater show quick > my.toml

flatwater show quick --resolved --set workload.block_size=16KiB
"""


def complete_experiment(incomplete: str) -> list[str]:
    """Names of the library, and the TOML files and directories beside what is typed so far."""
    from flatwater.errors import FlatwaterError
    from flatwater.experiment.library import library_files

    try:
        names = [name for name in library_files() if name.startswith(incomplete)]
    except FlatwaterError:
        names = []
    typed, _, start = incomplete.rpartition("/")
    folder = Path(f"{typed}/" if "/" in incomplete else ".")
    prefix = f"{typed}/" if "/" in incomplete else ""
    try:
        beside = [path for path in sorted(folder.iterdir()) if path.name.startswith(start)]
        files = [f"{prefix}{path.name}" for path in beside if path.suffix == ".toml" and path.is_file()]
        folders = [f"{prefix}{path.name}/" for path in beside if path.is_dir() and not path.name.startswith(".")]
    except OSError:  # no such directory, or not ours to read: then there is nothing to offer
        return names
    return [*names, *files, *folders]


def verb(
    name: Annotated[
        str,
        typer.Argument(help="A name of the library, or an experiment file.", autocompletion=complete_experiment),
    ],
    resolved: Annotated[
        bool, typer.Option("--resolved", help="With every default, sizes and durations in plain units.")
    ] = False,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIELD=VALUE", help="Replace a field; shows the resolved experiment."),
    ] = None,
) -> None:
    """Print an experiment: the starting point of your own."""
    from flatwater.experiment import find_experiment, load, read_text, to_toml

    text = to_toml(load(name, set_ or [])) if resolved or set_ else read_text(find_experiment(name))
    typer.echo(text.rstrip("\n"))
