"""`flatwater observe`: watches a running server under its own load."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from flatwater.cli.arguments import Json, MetricsAt, complete_url
from flatwater.cli.observing import DEFAULT_FOR, Asked, For, Out, Samples, Unit, cost_line, observe_server

if TYPE_CHECKING:
    from flatwater.results import CellSummary

NAME = "observe"
TAKES = ("out",)
EXAMPLES = """\
[bold]Examples[/bold]

flatwater observe 'mysql:///run/mysqld/mysqld.sock?user=root'

flatwater observe mysql://monitor@db1:3306 --for 1h --out results/monday

flatwater observe mysql://monitor@db1:3306 --for 1h --samples --out results/monday   (to replay it later)

FLATWATER_PASSWORD=... flatwater observe mysql://monitor@db1:3306 --json

flatwater observe mysql://monitor@db1:3306 --out s3://bucket/results/db1

flatwater advise results/monday
"""


def verb(
    url: Annotated[
        str,
        typer.Argument(
            metavar="URL",
            help="mysql://USER@HOST:3306, or mysql:///PATH/TO.sock?user=USER.",
            autocompletion=complete_url,
        ),
    ],
    for_: For = DEFAULT_FOR,
    unit: Unit = None,
    samples: Samples = False,
    out: Out = None,
    metrics: MetricsAt = None,
    as_json: Json = False,
) -> None:
    """Watch a running server under its own load, and change no setting of it.

    Every second of the server, and of the machine if it is local, goes into a result folder as that of a run: `report`,
    `advise`, `health` and `compare` take it. Ctrl-C ends the watching and keeps what was seen.

    With --samples, statements are kept as clients sent them: names, addresses, whatever is in them. The result is then
    as confidential as the data. `workload.kind = "query-log"` replays them.

    Its questions count in the server's Questions, and begin the averages of SHOW ENGINE INNODB STATUS anew where a
    server must be asked for that: docs/observe.md says where.

    The password is in the url or in FLATWATER_PASSWORD. The account needs PROCESS and REPLICATION CLIENT (MariaDB:
    SLAVE MONITOR); without them it works, and says what is missing.
    """
    from flatwater.cli.cell_lines import CellPrinter
    from flatwater.results.started import shell_word

    seen: list[CellSummary] = []
    with CellPrinter(as_json=as_json, then=seen.append) as printer:
        folder = observe_server(Asked(url, for_, unit, out, samples, metrics), printer)
    if as_json:
        return
    for summary in seen:
        typer.echo(cost_line(summary))
    word = shell_word(str(folder))
    typer.echo(f"result: {folder}\nreport: flatwater report {word}\nadvice: flatwater advise {word}")
