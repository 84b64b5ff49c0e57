"""Arguments that several sub-verbs share, and what they mean."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

#: A block is at least a sector of 512 bytes, and at most the largest request.
_BLOCK_SIZES = (512, 2**30)


def complete_format(incomplete: str) -> list[str]:
    """Names of the formats that can be read."""
    from flatwater._engine import trace_formats

    return [name for name, _ in trace_formats() if name.startswith(incomplete)]


Trace = Annotated[Path, typer.Argument(metavar="TRACE", help="A trace, plain or compressed (.gz, .zst).")]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="flatwater, iolog, blkparse, msr or oracle; guessed without it.",
        autocompletion=complete_format,
    ),
]
BlockSize = Annotated[str, typer.Option("--block-size", metavar="SIZE", help="The unit that caches keep.")]


@contextmanager
def engine_errors() -> Iterator[None]:
    """A context in which an error of the engine becomes a UserError with place and hint."""
    from flatwater.errors import UserError
    from flatwater.spelling import guessed_path

    try:
        yield
    except ValueError as error:
        if len(error.args) != 3:
            raise
        what, where, hint = error.args
        if where and not hint and not Path(where).exists():
            hint = guessed_path(Path(where))
        raise UserError(what, where=where or None, hint=hint or None) from None


def parse_block_size(text: str) -> int:
    """Bytes of a block. Errors: UserError."""
    from flatwater.errors import UserError
    from flatwater.experiment.units import parse_size, print_size

    try:
        size = parse_size(int(text) if text.isdecimal() else text)
    except ValueError as error:
        raise UserError(str(error), where="--block-size", hint="4KiB, 16KiB") from None
    least, most = _BLOCK_SIZES
    if not least <= size <= most:
        what = f"{print_size(size)} is no size of a block"
        raise UserError(what, where="--block-size", hint=f"{print_size(least)} to {print_size(most)}")
    return size
