"""`flatwater report`: draws a result."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

NAME = "report"
EXAMPLES = """\
[bold]Examples[/bold]

flatwater report fill-level.result

flatwater report fill-level.result --out /var/www/fill-level.html

flatwater report fill-level.result --png charts/
"""


def verb(
    result: Annotated[Path, typer.Argument(help="The result folder that `flatwater run` or `flatwater import` made.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Where the page goes. [dim]Default: RESULT/report.html[/dim]")
    ] = None,
    png: Annotated[Path | None, typer.Option(help="Also write each chart as a PNG file into this folder.")] = None,
    svg: Annotated[Path | None, typer.Option(help="Also write each chart as an SVG file into this folder.")] = None,
) -> None:
    """Draw a result as one HTML page that opens offline.

    The page holds its data and its program: it can be mailed, and it never reaches the network. A run that was
    killed is drawn as far as it came. PNG and SVG files are drawn by Chromium, the page is not.
    """
    from flatwater.report import export_images, write_page
    from flatwater.results import open_result

    opened = open_result(result)
    typer.echo(write_page(opened, out or result / "report.html"))
    for folder, image in ((png, "png"), (svg, "svg")):
        if folder is not None:
            for path in export_images(opened, folder, "png" if image == "png" else "svg"):
                typer.echo(path)
