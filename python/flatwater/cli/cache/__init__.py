"""`flatwater cache`: one file for each sub-verb.

To add one: write `cli/cache/VERB.py` with NAME, EXAMPLES and `verb`, register it below, mirror it in
`tests/cli/test_cache*.py`.
"""

from __future__ import annotations

import typer

from flatwater.cli.verb import add_verb

NAME = "cache"
EXAMPLES = """\
[bold]Start with[/bold]

flatwater cache create /fast/cache /dev/sdb --name db --size 10GiB

flatwater cache start db --mount /mnt/db      the cached device is then /mnt/db/cached

flatwater cache status

flatwater cache stop db

docs/cache.md tells more.
"""


def make_app() -> typer.Typer:
    """The sub-verbs."""
    # Sub-verbs import what they need inside their functions, so that `--help` and completion stay fast.
    from flatwater.cli.cache import (
        check,
        create,
        destroy,
        drain,
        flush,
        pin,
        preload,
        record,
        resize,
        restart,
        setting,
        start,
        status,
        stop,
    )

    app = typer.Typer(
        help="A flash cache: a fast file or device in front of a slow one, served as a file or over NBD.",
        no_args_is_help=True,
        epilog=EXAMPLES,
        rich_markup_mode="rich",
    )
    verbs = (create, start, status, setting, flush, pin, preload, record, resize, restart, stop, check, drain, destroy)
    for module in verbs:
        add_verb(app, module)
    return app
