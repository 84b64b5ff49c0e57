"""`flatwater watch`: a run that is under way, on a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flatwater.cli.arguments import complete_folder

NAME = "watch"
EXAMPLES = """\
[bold]Examples[/bold]

flatwater watch                        the newest run under way in results/, in this folder, or on this machine

flatwater watch results/monday

flatwater watch results/monday && flatwater report results/monday

flatwater watch results/monday --json | jq '.metrics["workload.throughput"]'

ssh -t db1 flatwater watch /data/results/monday     of another machine
"""


def verb(
    run: Annotated[
        Path | None,
        typer.Argument(
            metavar="RUN",
            help="The result folder of a run, or a folder with runs: the newest one under way in it. "
            "[dim]Default: results, then this folder, then wherever you run one[/dim]",
            autocompletion=complete_folder,
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object a second, and nothing else, on standard output.")
    ] = False,
) -> None:
    """Watch a run that another flatwater makes on this machine, or on a dask cluster for it, until it ends.

    It draws what the run has recorded so far, and then every second: throughput, p99 latency, checkpoint age beside its
    limit, the device. Where standard output is no terminal, it prints a line a second. At the end it prints the
    verdicts.

    It only reads, and the run does not notice. Ctrl-C ends the watching, and not the run.

    The exit code is 0 if the run completed, 1 if it failed, was interrupted or died, 130 after Ctrl-C.
    """
    from flatwater.cli.watching import find_run, watch

    watch(find_run(run), as_json=as_json)
