"""`flatwater export`: a result for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flatwater.cli.stores import Wanted

NAME = "export"
READS = {"run": Wanted.WHOLE}
EXAMPLES = """
[bold]Examples[/bold]

  flatwater export results/monday --to monday.csv          the series

  flatwater export results/monday --to monday --format csv     summary.csv and series.csv in a folder

  flatwater export results/monday --to cells.parquet --table summary

  flatwater export results/monday --to monday.json --overwrite

  flatwater export results/monday --to monday.prom         for promtool tsdb create-blocks-from openmetrics
"""


def verb(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The result folder.")],
    to: Annotated[Path, typer.Option("--to", metavar="FILE|DIR", help="Where it goes; a new folder is made.")],
    format_: Annotated[
        str | None,
        typer.Option("--format", metavar="FORMAT", help="csv, parquet, json or openmetrics (default: FILE's ending)."),
    ] = None,
    table: Annotated[
        str | None,
        typer.Option("--table", metavar="NAME", help="Only summary, or only series: of csv and parquet."),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace files that are there.")] = False,
) -> None:
    """Write the summary and the series of a result as CSV, Parquet, JSON or OpenMetrics. The result is not changed.

    The columns of the summary are those of `flatwater query --schema`; the series have cell, layer, metric, time_s and
    value, with the warm-up. A run that did not end is written as far as it came.
    """
    from flatwater.export import export
    from flatwater.results import open_result

    for path in export(open_result(run), to, format_name=format_, table=table, overwrite=overwrite):
        typer.echo(path)
