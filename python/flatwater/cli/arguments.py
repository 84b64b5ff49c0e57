"""Arguments that several verbs share."""

from __future__ import annotations

import datetime
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


def complete_folder(incomplete: str) -> list[str]:
    """Folders that begin with the typed text."""
    typed, _, start = incomplete.rpartition("/")
    prefix = f"{typed}/" if "/" in incomplete else ""
    try:
        beside = [path for path in sorted(Path(prefix or ".").iterdir()) if path.name.startswith(start)]
        return [f"{prefix}{path.name}" for path in beside if path.is_dir() and not path.name.startswith(".")]
    except OSError:  # the directory is missing or not readable: there are no completions
        return []


def complete_run(incomplete: str) -> list[str]:
    """Folders that begin with the typed text, and the urls of the servers of this machine."""
    return [*complete_folder(incomplete), *complete_url(incomplete)]


def complete_url(incomplete: str) -> list[str]:
    """The urls of the sockets at the usual places of this machine, and how another machine's begins."""
    sockets = [f"mysql://{socket}" for place in _SOCKETS if (socket := Path(place)).is_socket()]
    return [url for url in (*sockets, "mysql://") if url.startswith(incomplete)]


#: Where the packages of MySQL and MariaDB have a server's socket: of Debian, of Red Hat, and as it is compiled in.
_SOCKETS = ("/run/mysqld/mysqld.sock", "/var/lib/mysql/mysql.sock", "/tmp/mysql.sock")  # noqa: S108 - looked at only


def read_day_option(written: str, option: str) -> datetime.date:
    """The day that an option was given. Errors: UserError at the option."""
    from pydantic_core import PydanticCustomError

    from flatwater.errors import UserError
    from flatwater.experiment.cost import read_day
    from flatwater.experiment.problem import explain_custom

    try:
        return read_day(written)
    except PydanticCustomError as error:
        raise UserError(explain_custom(error)[0], where=option, hint=f"{option} 2010-06-14") from None


#: The option that names where a result goes.
OUT_HELP = "The result folder, or s3://BUCKET/PREFIX; a new folder under results/ if not given."

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

Json = Annotated[bool, typer.Option("--json", help="One JSON object, and nothing else, on standard output.")]

#: Where a run serves its metrics.
MetricsAt = Annotated[
    str | None,
    typer.Option(
        "--metrics",
        metavar="[HOST]:PORT",
        help="Serve the run's metrics for Prometheus at /metrics, while it runs. Without HOST for this machine only; "
        "with one that others reach, they need a token (FLATWATER_METRICS_TOKEN, or the one that is printed).",
    ),
]

#: What a verb says, as a document too (`report/document.py`).
DocumentFile = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="FILE.html|.md", help="Also write it as a page, or as Markdown."),
]
Force = Annotated[bool, typer.Option("--force", help="Replace a file that flatwater did not write.")]
