"""The command line: one file for each verb.

To add a verb: write `cli/VERB.py` with `NAME`, `EXAMPLES` and a function `verb`, name it below, and write its test in
`tests/cli/test_VERB.py`.
"""

from __future__ import annotations

import functools
import os
import sys
from types import ModuleType

import typer
from typer.exceptions import TyperException

from flatwater.cli.verb import add_verb
from flatwater.errors import FlatwaterError, Interrupted, ReaderGoneError, UserError
from flatwater.printing import guarded_output, printable

EXAMPLES = """\
[bold]Start with[/bold]

flatwater run demo --set storage.path=DIR

flatwater COMMAND --help shows examples of each.
"""


def _version(value: bool) -> None:
    if value:
        from flatwater import __version__

        typer.echo(f"flatwater {__version__}")
        raise typer.Exit


def _options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version and exit."
    ),
) -> None:
    pass


def _without_verbs() -> typer.Typer:
    app = typer.Typer(
        name="flatwater",
        help="What does this stack sustain, and is the line flat? A laboratory for OLTP databases on flash.",
        no_args_is_help=True,
        epilog=EXAMPLES,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    app.callback()(_options)
    return app


@functools.cache
def make_app() -> typer.Typer:
    """The program with all its verbs."""
    # Verbs import what they need inside their functions, so that `--help` and completion stay fast.
    from flatwater.cli import (
        advise,
        cache,
        check,
        compare,
        copying,
        cost,
        emulate,
        export,
        fit,
        health,
        importing,
        list,
        ls,
        observe,
        query,
        report,
        resume,
        run,
        serve,
        show,
        snapshots,
        tag,
        trace,
        trend,
        tune_up,
        watch,
        what_if,
    )

    verbs = (
        run,
        resume,
        watch,
        report,
        compare,
        trend,
        check,
        list,
        show,
        ls,
        query,
        tag,
        export,
        copying,
        importing,
        emulate,
        fit,
        what_if,
        health,
        cost,
        observe,
        advise,
        tune_up,
        serve,
    )
    return _with(_without_verbs(), verbs, (cache, trace, snapshots))


def _with(app: typer.Typer, verbs: tuple[ModuleType, ...], groups: tuple[ModuleType, ...]) -> typer.Typer:
    for module in verbs:
        add_verb(app, module)
    for group in groups:
        app.add_typer(group.make_app(), name=group.NAME)
    return app


def main() -> None:
    """Entry point: turns errors into one line and the right exit code."""
    with guarded_output():
        code = _call()
    sys.exit(code)


def _call() -> int:
    """Runs the verb of the command line; returns its exit code."""
    try:
        try:
            code = make_app()(standalone_mode=False)
            sys.stdout.flush()
        except TyperException as error:
            return _refuse(error)
    except FlatwaterError as error:
        if not isinstance(error, ReaderGoneError):
            print(f"error: {_as_written(str(error))}", file=sys.stderr)
        return error.exit_code
    except OSError as error:
        # The user's path cannot even be looked up.
        if error.filename is None:
            raise
        print(f"error: {printable(os.fsdecode(error.filename))}: {error.strerror}", file=sys.stderr)
        return UserError.exit_code
    except (KeyboardInterrupt, typer.Abort):
        code = Interrupted.exit_code
    # Typer turns Ctrl-C into an exit code without a message.
    if code == Interrupted.exit_code:
        print("error: interrupted", file=sys.stderr)
    return code if isinstance(code, int) else 0


def _as_written(text: str) -> str:
    """A text with the addresses of stores in the place of the temporary folders that stand for them."""
    stores = sys.modules.get("flatwater.stores")
    return str(stores.told(text)) if stores is not None else text


def _refuse(error: TyperException) -> int:
    """Prints the error in the arguments."""
    if type(error).__name__ == "NoArgsIsHelpError":
        # Typer has printed the help.
        return UserError.exit_code
    from flatwater.cli.usage import explain_usage

    print(f"error: {explain_usage(error)}", file=sys.stderr)
    return UserError.exit_code
