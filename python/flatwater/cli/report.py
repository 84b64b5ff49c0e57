"""`flatwater report`: draws a result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flatwater.cli.stores import Wanted
from flatwater.errors import UserError

if TYPE_CHECKING:
    from flatwater.results import Result

NAME = "report"
READS = {"result": Wanted.WHOLE}
EXAMPLES = """\
[bold]Examples[/bold]

flatwater report fill-level.result

flatwater report fill-level.result --out /var/www/fill-level.html

flatwater report fill-level.result --one-page     one sheet of A4, also as PDF

flatwater report fill-level.result --png charts/

flatwater report results/all --published docs/published.md

flatwater report results/all --json | jq .agreement
"""


def verb(
    result: Annotated[
        Path,
        typer.Argument(help="The result folder that `flatwater run` or `flatwater import` made, or of `run --all`."),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Where the page goes. [dim]Default: RESULT/report.html[/dim]")
    ] = None,
    png: Annotated[Path | None, typer.Option(help="Also write each chart as a PNG file into this folder.")] = None,
    svg: Annotated[Path | None, typer.Option(help="Also write each chart as an SVG file into this folder.")] = None,
    published: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write what was published beside ours as Markdown, and draw no page."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print what was published beside ours as JSON, and draw no page.")
    ] = False,
    one_page: Annotated[
        bool,
        typer.Option("--one-page", help="One sheet of A4 instead, as HTML and, where there is a Chromium, as PDF."),
    ] = False,
    cell: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="With --one-page: the cell of a sweep that it is about.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that flatwater did not write.")] = False,
) -> None:
    """Draw a result as one HTML page that opens offline.

    The page holds its data and its program: it can be mailed, and it never reaches the network. A run that was
    killed is drawn as far as it came. PNG and SVG files are drawn by Chromium, the page is not.
    """
    from flatwater.report.images import export_images
    from flatwater.report.page import write_page
    from flatwater.report.published import needless_reasons, published_data, read_results, write_published
    from flatwater.results import open_result
    from flatwater.results.collection import INDEX
    from flatwater.results.started import shell_word

    if published is not None or as_json:
        given = next((name for name, value in (("--out", out), ("--png", png), ("--svg", svg)) if value), None)
        if given is not None:
            raise UserError("draws a page, and --published and --json draw none", where=given, hint="one at a time")
        if published is not None:
            page = write_published(result, published, force=force)
            for line in needless_reasons(read_results(result)[0]):
                typer.echo(f"warning: {line}", err=True)
            if not as_json:
                typer.echo(page)
        if as_json:
            typer.echo(json.dumps(published_data(*read_results(result))))
        return
    if out is None:
        require_own_place(result)
    if (result / INDEX).exists():
        one = shell_word(f"{result}/NAME")
        hint = f"flatwater report {one}, or --published FILE for all of them beside what was published"
        raise UserError("holds the results of many experiments, and a page is of one", where=str(result), hint=hint)
    opened = open_result(result)
    if one_page:
        write_sheet(opened, cell, out, force=force)
        return
    typer.echo(write_page(opened, out or result / "report.html", force=force))
    for folder, image in ((png, "png"), (svg, "svg")):
        if folder is not None:
            for path in export_images(opened, folder, "png" if image == "png" else "svg", force=force):
                typer.echo(path)


def require_own_place(result: Path) -> None:
    """Errors: UserError for a result of a store: nothing is drawn into it."""
    from flatwater.stores import is_mirror, shown

    if is_mirror(result):
        raise UserError("goes where?", where="--out", hint=f"--out {result.name}.html; {shown(result)} is only read")


def write_sheet(result: Result, cell: int | None = None, out: Path | None = None, *, force: bool = False) -> None:
    """One sheet as HTML, and as PDF beside it if a browser can print it; `--out FILE.pdf` demands the PDF.

    With `--out FILE.md` it is Markdown, and nothing else.
    """
    from flatwater.advise.one_page import PDF_SIGNATURE, one_page, write_pdf
    from flatwater.errors import FlatwaterError
    from flatwater.owned import require_replaceable
    from flatwater.report.document import is_markdown, write_document
    from flatwater.report.images import find_browser

    page = out or result.path / "one-page.html"
    printed = page.with_suffix(".pdf")
    if is_markdown(page):
        typer.echo(write_document(one_page(result, cell), page, force=force))
        return
    page = page.with_suffix(".html") if page.suffix.lower() == ".pdf" else page
    require_replaceable(printed, PDF_SIGNATURE, force=force, where="--out")
    typer.echo(write_document(one_page(result, cell), page, force=force))
    try:
        find_browser()
    except FlatwaterError as error:
        if out is not None and out.suffix.lower() == ".pdf":
            raise
        typer.echo(f"no PDF: {error.what}", err=True)
        return
    write_pdf(page, printed)
    typer.echo(printed)
