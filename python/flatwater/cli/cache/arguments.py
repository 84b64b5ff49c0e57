"""Arguments that several sub-verbs share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from flatwater.cache.state import CacheState


def complete_name(incomplete: str) -> list[str]:
    """Names of the caches on this machine."""
    from flatwater.cache.state import list_names

    return [name for name in list_names() if name.startswith(incomplete)]


def complete_setting(incomplete: str) -> list[str]:
    """Names of settings, and the words that some settings accept."""
    from flatwater.cache.settings import setting_words

    name, equals, value = incomplete.partition("=")
    words = setting_words()
    if equals:
        return [f"{name}={word}" for word in words.get(name, ()) if word.startswith(value)]
    return [f"{one}=" for one in words if one.startswith(name)]


#: The name of a cache, or its cache device.
Name = Annotated[
    str,
    typer.Argument(metavar="NAME", help="A cache's name, or its cache device.", autocompletion=complete_name),
]


Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="SETTING=VALUE", help="As `flatwater cache set`.", autocompletion=complete_setting),
]


TrustBacking = Annotated[
    bool,
    typer.Option(
        "--trust-backing",
        help="BACKING is the right one although it was copied, grew, or was written without the cache: what the cache "
        "holds clean is forgotten.",
    ),
]


def find_located(name: str) -> CacheState:
    """The cache with this name, with the current paths of its devices; prints a note if they changed. Errors:
    UserError.
    """
    import sys

    from flatwater.cache.locate import located

    state, notes = located(find(name))
    for text in notes:
        print(text, file=sys.stderr)
    return state


def find(name: str) -> CacheState:
    """The cache with this name. Errors: UserError with the known names."""
    from flatwater.cache.state import find_state

    return find_state(name)


def require_resting(state: CacheState, why: str) -> None:
    """Errors: UserError when the cache is running."""
    from flatwater.cache.state import read_process
    from flatwater.errors import UserError

    process = read_process(state.name)
    if process is not None:
        raise UserError(
            f"cache {state.name} runs (process {process.pid}): {why}", hint=f"flatwater cache stop {state.name}"
        )


def parse_bytes(text: str | None, where: str) -> int | None:
    """The bytes of a size. Errors: UserError."""
    from flatwater.errors import UserError
    from flatwater.experiment.units import parse_size

    if text is None:
        return None
    try:
        return parse_size(int(text) if text.isdecimal() else text)
    except ValueError as error:
        raise UserError(str(error), where=where, hint="16KiB, 500M, 20GiB") from None


def parse_range(text: str | None, state: CacheState, where: str) -> tuple[int, int]:
    """OFFSET+LENGTH, or FIRST..END, or all, as offset and length in bytes. Errors: UserError."""
    from flatwater.errors import UserError

    if text is None or text == "all":
        return 0, state.slow_bytes
    hint = "10GiB+512MiB (from, length), 0..1GiB (from, end), or all"
    for sign in ("+", ".."):
        first, found, second = text.partition(sign)
        if found:
            begin = 0 if first.strip() == "0" else parse_bytes(first.strip(), where) or 0
            end = parse_bytes(second.strip(), where) or 0
            length = end if sign == "+" else end - begin
            if length <= 0:
                raise UserError(f"{text} is empty", where=where, hint=hint)
            if begin + length > state.slow_bytes:
                raise UserError(
                    f"{text} goes beyond the {state.slow_bytes} B of {state.backing}", where=where, hint=hint
                )
            # A cache holds whole blocks.
            start = begin // state.block_bytes * state.block_bytes
            stop = min(state.slow_bytes, -(-(begin + length) // state.block_bytes) * state.block_bytes)
            return start, stop - start
    raise UserError(f"{text!r} is no range", where=where, hint=hint)


def parse_changes(written: list[str], where: str) -> dict[str, str]:
    """The settings in a list of SETTING=VALUE. Errors: UserError."""
    from flatwater.errors import UserError

    changes: dict[str, str] = {}
    for one in written:
        name, equals, value = one.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise UserError(f"{one!r} is not SETTING=VALUE", where=where, hint="dirty_high_pct=50")
        changes[name.strip()] = value.strip()
    return changes


def say(object_: dict[str, object], text: str, as_json: bool) -> None:
    """Prints the outcome, for a program or for people."""
    import json

    typer.echo(json.dumps(object_) if as_json else text)


def complete_preset(incomplete: str) -> list[str]:
    """Names of the presets."""
    from flatwater.cache.settings import PRESETS

    return [name for name in PRESETS if name.startswith(incomplete)]


Preset = Annotated[
    str | None,
    typer.Option("--preset", help="A product's policies: flashcache, vcache.", autocompletion=complete_preset),
]
