"""The arguments that the sub-verbs of `flatwater snapshots` share, and a snapshot in words."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flatwater.server import Inspected, Shape


def complete_key(context: typer.Context, incomplete: str) -> list[str]:
    """The keys of the snapshots in the directory that was typed before."""
    from flatwater.errors import FlatwaterError
    from flatwater.server import inspect_snapshots, storage_of

    try:
        found = inspect_snapshots(storage_of(Path(context.params["storage"])))
    except (FlatwaterError, OSError, KeyError, TypeError):
        return []
    return [one.key for one in found if one.key.startswith(incomplete)]


Storage = Annotated[
    Path, typer.Argument(metavar="DIR", help="The storage.path of the experiments that loaded them.", file_okay=False)
]
Keys = Annotated[
    list[str] | None, typer.Argument(metavar="KEY", help="Which ones, by their keys.", autocompletion=complete_key)
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object, and nothing else, on standard output.")]

#: Characters of a statement that are shown.
_STATEMENT_SHOWN = 40
#: Seconds of the units of an age, the largest first.
_UNITS = (("days", 86400), ("hours", 3600), ("minutes", 60))


def select(found: Sequence[Inspected], keys: Sequence[str], storage: Path) -> list[Inspected]:
    """The snapshots of these keys, in their order. Errors: UserError for a key that none has."""
    from flatwater.errors import UserError
    from flatwater.spelling import suggest

    known = [one.key for one in found]
    for key in keys:
        if key not in known:
            hint = suggest(key, known) if known else "there are none"
            raise UserError(f"there is no snapshot {key!r} in {storage}", where="KEY", hint=hint)
    return [one for one in found if one.key in keys]


def server_text(shape: Shape | None) -> str:
    """The server that a snapshot is of."""
    from flatwater.printing import printable

    return printable(f"{shape.flavour} {shape.version_text}") if shape is not None else "?"


def dataset_text(shape: Shape | None) -> str:
    """The workload that a snapshot has the data of: `tpcc, warehouses 100`, `tpcc, warehouses 2, tproc-c`."""
    from flatwater.printing import printable

    if shape is None:
        return "?"
    told = [str(shape.dataset.get("kind", "?"))]
    for name in ("warehouses", "tables", "rows"):
        value = shape.dataset.get(name)
        if isinstance(value, Mapping):
            # The program whose tables they are, and what of them is not as usual.
            told.append(str(value.get("name", "?")))
            told += [
                option if one is True else f"{option} {one}"
                for option, one in value.items()
                if option != "name" and one
            ]
        elif value is not None:
            told.append(f"{name} {value}")
    told += _setup_texts(shape.dataset.get("setup"))
    return printable(", ".join(told))


def _setup_texts(setup: object) -> list[str]:
    """What tells two of the user's own data apart: the file's digest, and the first statement."""
    if not isinstance(setup, Mapping):
        return []
    digest, statements = setup.get("file_digest"), setup.get("statements")
    first = statements[0] if isinstance(statements, list) and statements else None
    texts = [f"setup_file {str(digest)[:8]}"] if digest else []
    if isinstance(first, Mapping):
        texts.append(textwrap.shorten(str(first.get("sql", "")), _STATEMENT_SHOWN, placeholder="..."))
    return texts


def age_text(made_at: float | None) -> str:
    """How long ago it was loaded."""
    if made_at is None:
        return "?"
    age_s = max(0.0, time.time() - made_at)
    for name, unit_s in _UNITS:
        if age_s >= 2 * unit_s:
            return f"{age_s / unit_s:.0f} {name}"
    return "now"


def size_text(size_bytes: int | None) -> str:
    """Its size on the file system."""
    from flatwater.server.sizes import print_size

    return "?" if size_bytes is None else print_size(size_bytes)


def as_data(one: Inspected) -> dict[str, object]:
    """A snapshot as `--json` prints it."""
    return {
        "key": one.key,
        "folder": str(one.folder),
        "state": one.state,
        "faults": list(one.faults),
        "server": server_text(one.shape) if one.shape is not None else None,
        "dataset": dict(one.shape.dataset) if one.shape is not None else None,
        "settings": dict(one.shape.settings) if one.shape is not None else None,
        "size_bytes": one.size_bytes,
        "age_s": None if one.made_at is None else max(0.0, time.time() - one.made_at),
    }


def print_table(found: Sequence[Inspected]) -> None:
    """A line a snapshot, and below it what is wrong with it."""
    from rich import box
    from rich.table import Table

    from flatwater.cli.list import wide_console
    from flatwater.printing import printable

    console = wide_console()
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for heading in ("key", "server", "data", "size", "age", "state"):
        justify: Literal["left", "right"] = "right" if heading == "size" else "left"
        table.add_column(heading, justify=justify, overflow="fold", no_wrap=heading == "key")
    for one in found:
        size, age = size_text(one.size_bytes), age_text(one.made_at)
        table.add_row(one.key, server_text(one.shape), dataset_text(one.shape), size, age, one.state)
    console.print(table)
    for one in found:
        for fault in one.faults:
            console.print(f"{one.key}: {printable(fault)}", soft_wrap=True)
