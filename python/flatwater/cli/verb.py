"""Adds a verb to the program."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand

from flatwater.errors import UserError

if TYPE_CHECKING:
    from flatwater.cli.stores import Wanted


class _Command(TyperCommand):
    """A verb whose paths are not empty: an empty one would be the current folder (`--out "$FORGOTTEN"`)."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if "" in args or any(one.startswith("-") and one.endswith("=") for one in args):
            given, _, order = self.make_parser(ctx).parse_args(args=list(args))
            for parameter in list[Any](order):
                is_path = parameter.type_descriptor.annotation in (Path, list[Path])
                # What verbs are about may be a path or the name of an experiment.
                if (is_path or not parameter.opts[0].startswith("-")) and "" in _each(given.get(parameter.name)):
                    from flatwater.cli.usage import name_of

                    hint = "is it a variable of the shell that is not set?"
                    raise UserError("is empty", where=name_of(parameter), hint=hint)
        return super().parse_args(ctx, args)


def add_verb(app: typer.Typer, module: Any) -> None:
    """Adds a verb with its help. Only its EXAMPLES are markup: in other text, `[cache]` is a table of a file.

    `READS` of its module names the arguments that may be addresses of a store, with what is fetched of each: the verb
    gets a folder that stands for the address. `TAKES` names those that it handles itself. All others are paths of this
    machine.
    """
    from rich.markup import escape

    reads: Mapping[str, Wanted] = getattr(module, "READS", {})
    takes: tuple[str, ...] = getattr(module, "TAKES", ())

    @functools.wraps(module.verb)
    def call(**given: object) -> object:
        if any(_may_be_address(one) for value in given.values() for one in _each(value)):
            given = _resolved(given, reads, takes)
        return module.verb(**given)

    app.command(module.NAME, cls=_Command, help=escape(module.verb.__doc__ or ""), epilog=module.EXAMPLES)(call)


def _each(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _may_be_address(value: object) -> bool:
    """A quick look: most calls have no address, and need not import what reads them."""
    return isinstance(value, Path | str) and ":/" in str(value)[:8]


def _resolved(given: Mapping[str, object], reads: Mapping[str, Wanted], takes: tuple[str, ...]) -> dict[str, object]:
    """The arguments of a verb: a folder for each address that it reads. Errors: UserError, StoreGone."""
    from flatwater.cli.stores import fetched, refuse

    found: dict[str, object] = {}
    for name, value in given.items():
        if name in reads:
            several = [fetched(one, reads[name]) for one in _each(value)]
            found[name] = several if isinstance(value, list) else several[0]
            continue
        if name not in takes:
            for one in _each(value):
                if isinstance(one, Path) and _may_be_address(one):
                    refuse(one)
        found[name] = value
    return found
