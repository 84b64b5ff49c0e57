"""`flatwater advise`: the changes to make first, and their expected effects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flatwater.cli.arguments import DocumentFile, Force, Json, complete_run
from flatwater.cli.observing import DEFAULT_FOR, Asked, For, Unit, is_url, observe_server
from flatwater.cli.stores import Wanted
from flatwater.printing import make_console

if TYPE_CHECKING:
    from flatwater.advise import Consultation, Verified
    from flatwater.advise.rule import Rule

NAME = "advise"
TAKES = ("result",)
READS = {"run": Wanted.WHOLE}
EXAMPLES = """
[bold]Examples[/bold]

  flatwater advise results/mine                      what to change first

  flatwater advise results/mine --cell 3             one cell of a sweep

  flatwater advise results/mine --verify             make the first change, and measure it

  flatwater advise results/mine --rule redo-size --verify

  flatwater advise results/mine --out advice.html    or advice.md

  flatwater advise mysql://monitor@db1:3306          observe a running server for ten minutes first

  flatwater advise results/mine --json | jq '.advice[0].change.lines'
"""


def verb(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN|URL",
            help="A result folder; or the url of a server to observe first.",
            autocompletion=complete_run,
        ),
    ],
    cell: Annotated[int | None, typer.Option(metavar="NUMBER", help="Which cell of a sweep.")] = None,
    rule: Annotated[str | None, typer.Option(metavar="NAME", help="Ask this rule only.")] = None,
    predict: Annotated[
        bool, typer.Option("--predict/--no-predict", help="Predict effects with a model, which takes a minute.")
    ] = True,
    cpu_s: Annotated[
        float | None,
        typer.Option("--cpu-s", metavar="SECONDS", min=1, help="Processor time for effects of a modelled run; 120."),
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Run the experiment with the first change that it can make, and compare.")
    ] = False,
    trust: Annotated[
        bool, typer.Option("--trust", help="The result is yours: run programs that its experiment names.")
    ] = False,
    for_: For = DEFAULT_FOR,
    unit: Unit = None,
    result: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="With a URL: the result folder; a new one under results/ if not given."),
    ] = None,
    out: DocumentFile = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Say what to change first, with the evidence, the expected effect, the risk and the source.

    A rule that is not sure is silent, and "nothing to change" is an answer. Nothing that runs is ever changed:
    `--verify` makes the change in a new run of the experiment, into a new folder. A flushing policy of Python, or the
    server of a path, that the experiment names is run only with `--trust`: a result may come from anybody.

    With the URL of a server, its own load is observed first, as `flatwater observe` does. The result folder is kept.
    Rules that lack what they look at are listed as not judged, with the reason.
    """
    from flatwater.advise import consult, with_effects
    from flatwater.advise.telling import as_data, as_document
    from flatwater.report.document import as_text, require_document_place, write_document
    from flatwater.results import open_result

    if out is not None:
        require_document_place(out, force=force)
    rules = _rules(rule)
    folder = _observed(Asked(run, for_, unit, result)) if is_url(run) else Path(run)
    consultation = consult(open_result(folder), cell, rules)
    if predict:
        with make_console(stderr=True).status("reading...") as status:
            consultation = with_effects(consultation, status.update, cpu_s, programs=trust)
    verified = _verify(consultation, programs=trust) if verify else None
    document = as_document(consultation, verified)
    if out is not None:
        write_document(document, out, force=force)
    if as_json:
        typer.echo(json.dumps(as_data(consultation, verified), indent=1))
        return
    console = make_console()
    for line in [*as_text(document), *([str(out)] if out is not None else [])]:
        console.print(line, soft_wrap=not console.is_terminal, markup=False, highlight=False)


def _observed(asked: Asked) -> Path:
    """Observes a server first; what is printed meanwhile goes to standard error."""
    from flatwater.cli.cell_lines import CellPrinter

    with CellPrinter(as_json=False) as printer:
        folder = observe_server(asked, printer)
        printer.note(f"result: {folder}")
    return folder


def _rules(name: str | None) -> tuple[Rule, ...]:
    from flatwater.advise.rules import RULES
    from flatwater.errors import UserError

    found = tuple(rule for rule in RULES if name is None or rule.name == name)
    if not found:
        names = ", ".join(rule.name for rule in RULES)
        raise UserError("there is no such rule", where=f"--rule {name}", hint=names)
    return found


def _verify(consultation: Consultation, *, programs: bool) -> Verified | None:
    """Tries the first change that an experiment can make; None if there is no advice."""
    from flatwater.advise import verify
    from flatwater.runner.progress import start_reporter

    if not consultation.advice:
        return None
    chosen = next((one for one in consultation.advice if one.change.overrides), consultation.advice[0])
    reporter = start_reporter()
    try:
        return verify(consultation.cell, chosen, reporter, programs=programs)
    finally:
        reporter.close()
