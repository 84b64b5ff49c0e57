"""`flatwater snapshots`: one file for each sub-verb."""

from __future__ import annotations

import typer

from flatwater.cli.verb import add_verb

NAME = "snapshots"
EXAMPLES = """\
[bold]Start with[/bold]

flatwater snapshots list /mnt/flash       the storage.path of the experiment

flatwater snapshots check /mnt/flash      reads all of their data files

flatwater snapshots delete /mnt/flash 3f2a9c0d1e5b7a86
"""


def make_app() -> typer.Typer:
    """The sub-verbs."""
    from flatwater.cli.snapshots import check, delete, list

    app = typer.Typer(
        help="The loaded data that servers start from: list, check and delete snapshots.",
        no_args_is_help=True,
        epilog=EXAMPLES,
        rich_markup_mode="rich",
    )
    for module in (list, check, delete):
        add_verb(app, module)
    return app
