"""`flatwater import`: converts results of fio, sysbench and tpcc-mysql."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flatwater.printing import make_console

NAME = "import"
EXAMPLES = """
[bold]Examples[/bold]

  flatwater import fio.json                          a cell a job

  flatwater import run1_iops.1.log run1_lat.1.log    one fio run's logs

  flatwater import threads-*.txt --out sweep         a cell a file

  flatwater compare tpcc-2011-result tpcc-result
"""


def verb(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="What the tool printed, or fio's logs.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="The result folder to make (default: NAME-result).")
    ] = None,
    format_: Annotated[str, typer.Option("--format", help="auto, fio-json, fio-log, sysbench or tpcc.")] = "auto",
    name: Annotated[str | None, typer.Option("--name", help="The result's name (default: the first file's).")] = None,
) -> None:
    """Read what fio, sysbench or tpcc_start printed into a result, to report and compare it.

    What a tool did not report stays unknown: it is never shown as zero.
    """
    from flatwater.analysis import analyse
    from flatwater.errors import UserError
    from flatwater.results.importers import NAMES, keep, read_files
    from flatwater.spelling import suggest

    if format_ not in ("auto", *NAMES):
        raise UserError(f"no format {format_!r}", where="--format", hint=suggest(format_, ("auto", *NAMES)))
    cells = read_files(files, format_)
    stem = files[0].stem
    # The logs of one fio run have names like PREFIX_iops.1.log: the prefix is the name of the run.
    name = name or (cells[0].label if stem.startswith(f"{cells[0].label}_") else stem)
    out = out or Path(f"{name}-result")
    sources = ", ".join(path.name for path in files[:3]) + (f" and {len(files) - 3} more" if len(files) > 3 else "")
    result = keep(cells, out, name, f"Imported from {sources}", analyse)
    console = make_console()
    for cell in result.cells:
        if cell.summary is not None:
            label = cell.label if len(result.cells) > 1 else name
            console.print(f"{label}: {cell.summary.verdict_text}", soft_wrap=True)
            for warning in cell.summary.warnings:
                console.print(f"  warning: {warning}", soft_wrap=True)
    console.print(str(result.path), soft_wrap=True)
