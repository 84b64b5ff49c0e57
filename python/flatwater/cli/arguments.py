"""Arguments that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def complete_experiment(incomplete: str) -> list[str]:
    """Names of the library, and the TOML files and directories that begin with the typed text."""
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
    except OSError:  # the directory is missing or not readable: there are no completions
        return names
    return [*names, *files, *folders]


def complete_either(incomplete: str) -> list[str]:
    """The completions of `complete_experiment`, and the names of the modelled devices."""
    from flatwater.errors import FlatwaterError
    from flatwater.experiment.device.files import device_files

    try:
        devices = [name for name in device_files() if name.startswith(incomplete)]
    except FlatwaterError:
        devices = []
    return [*complete_experiment(incomplete), *devices]


#: A file, or a name of the library.
ExperimentFile = Annotated[
    str,
    typer.Argument(
        metavar="FILE", help="An experiment file, or a name of the library.", autocompletion=complete_experiment
    ),
]

#: One or several of these, or a folder of them.
ExperimentFiles = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="FILE",
        help="An experiment file, or a name of the library; with --all several of them, or a folder.",
        autocompletion=complete_experiment,
    ),
]

#: Fields that are replaced before the check.
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="FIELD=VALUE", help="Replace a field: storage.path=/mnt/flash. Repeatable."),
]
