"""`flatwater tune-up`: one page on a server, with what to change first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flatwater.cli.arguments import Json
from flatwater.cli.observing import DEFAULT_FOR, Asked, For, Out, Unit, cost_line, is_url, observe_server

if TYPE_CHECKING:
    from flatwater.cli.cell_lines import CellPrinter
    from flatwater.results import CellSummary

NAME = "tune-up"
EXAMPLES = """\
[bold]Examples[/bold]

flatwater tune-up 'mysql:///run/mysqld/mysqld.sock?user=root'

flatwater tune-up mysql://monitor@db1:3306 --for 1h --out results/db1

flatwater tune-up my-tpcc.toml                     an experiment instead of the server's own load

flatwater tune-up mysql://monitor@db1:3306 --json | jq '.advice[0].change.lines'
"""


def verb(
    target: Annotated[
        str,
        typer.Argument(metavar="URL|FILE", help="The url of a running server; or an experiment to run instead."),
    ],
    for_: For = DEFAULT_FOR,
    unit: Unit = None,
    out: Out = None,
    predict: Annotated[
        bool, typer.Option("--predict/--no-predict", help="Predict effects with what-if, which takes a minute.")
    ] = True,
    as_json: Json = False,
) -> None:
    """Look at a server for ten minutes, and say on one page what to change first.

    The server's own load is observed, as `flatwater observe` does, and no setting is changed. Or an experiment is run.
    Then come the advice, and one sheet of A4 in the result folder, as HTML and, where there is a Chromium, as PDF.
    """
    from flatwater.advise import consult, with_effects
    from flatwater.advise.one_page import most_of_all
    from flatwater.advise.telling import as_data, as_document
    from flatwater.cli.cell_lines import CellPrinter
    from flatwater.cli.report import write_sheet
    from flatwater.printing import make_console
    from flatwater.report.document import as_text
    from flatwater.results import open_result

    seen: list[CellSummary] = []
    with CellPrinter(as_json=False, then=seen.append) as printer:
        if is_url(target):
            folder = observe_server(Asked(target, for_, unit, out), printer)
            for summary in seen:
                printer.note(cost_line(summary))
        else:
            folder = _run(target, out, printer)
    result = open_result(folder)
    consultation = consult(result, most_of_all(result))
    if predict:
        with make_console(stderr=True).status("reading...") as status:
            consultation = with_effects(consultation, status.update, programs=True)
    if as_json:
        typer.echo(json.dumps(as_data(consultation), indent=1))
        return
    console = make_console()
    for line in as_text(as_document(consultation)):
        console.print(line, soft_wrap=not console.is_terminal, markup=False, highlight=False)
    typer.echo(f"result: {folder}")
    write_sheet(result)


def _run(file: str, out: Path | None, printer: CellPrinter) -> Path:
    """Runs an experiment. Errors: UserError, FlatwaterError, Interrupted."""
    from flatwater.cli.request import RunRequest
    from flatwater.cli.run import raise_unless_complete
    from flatwater.experiment import load
    from flatwater.runner.sweep import default_folder, run_experiment

    experiment = load(file, programs=True)
    folder = out or default_folder(experiment)
    outcome = run_experiment(experiment, folder, printer.reporter, printer.print)
    raise_unless_complete(outcome, folder, RunRequest(files=(file,), out=out))
    return folder
