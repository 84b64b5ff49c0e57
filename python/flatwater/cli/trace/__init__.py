"""`flatwater trace`: one file for each sub-verb.

To add one: write `cli/trace/VERB.py` with NAME, EXAMPLES and `verb`, register it below, mirror it in
`tests/cli/trace/test_VERB.py`.
"""

from __future__ import annotations

import typer

from flatwater.cli.verb import add_verb

NAME = "trace"
EXAMPLES = """\
[bold]Start with[/bold]

flatwater trace record db requests.trace      what the running cache db is asked

flatwater trace show requests.trace

flatwater trace simulate requests.trace --policy lru,s3-fifo --size 1GiB,10%

docs/traces.md tells more.
"""


def make_app() -> typer.Typer:
    """The sub-verbs."""
    # Sub-verbs import what they need inside their functions, so that `--help` and completion stay fast.
    from flatwater.cli.cache import record
    from flatwater.cli.trace import convert, show, simulate

    app = typer.Typer(
        help="Traces of requests: what is in them, how caches would do, other formats.",
        no_args_is_help=True,
        epilog=EXAMPLES,
        rich_markup_mode="rich",
    )
    for module in (record, show, simulate, convert):
        add_verb(app, module)
    return app
