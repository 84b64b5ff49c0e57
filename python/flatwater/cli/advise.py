"""`flatwater advise`: the changes to make first, and their expected effects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flatwater.printing import make_console

if TYPE_CHECKING:
    from flatwater.advise import Consultation, Verified
    from flatwater.advise.rule import Rule

NAME = "advise"
EXAMPLES = """
[bold]Examples[/bold]

  flatwater advise results/mine                      what to change first

  flatwater advise results/mine --cell 3             one cell of a sweep

  flatwater advise results/mine --verify             make the first change, and measure it

  flatwater advise results/mine --rule redo-size --verify

  flatwater advise results/mine --out advice.html    or advice.md

  flatwater advise results/mine --json | jq '.advice[0].change.lines'
"""


def verb(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A result folder.")],
    cell: Annotated[int | None, typer.Option(metavar="NUMBER", help="Which cell of a sweep.")] = None,
    rule: Annotated[str | None, typer.Option(metavar="NAME", help="Ask this rule only.")] = None,
    predict: Annotated[
        bool, typer.Option("--predict/--no-predict", help="Predict effects with what-if, which takes a minute.")
    ] = True,
    verify: Annotated[
        bool, typer.Option("--verify", help="Run the experiment with the first change that it can make, and compare.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Also write the advice as .html or .md.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that flatwater did not write.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object, and nothing else, on standard output.")
    ] = False,
) -> None:
    """Say what to change first, with the evidence, the expected effect, the risk and the source.

    A rule that is not sure is silent, and "nothing to change" is an answer. Nothing that runs is ever changed:
    `--verify` makes the change in a new run of the experiment, into a new folder.
    """
    from flatwater.advise import consult, with_effects
    from flatwater.advise.telling import as_data, as_document
    from flatwater.report.document import as_text, write_document
    from flatwater.results import open_result

    consultation = consult(open_result(run), cell, _rules(rule))
    if predict:
        with make_console(stderr=True).status("reading...") as status:
            consultation = with_effects(consultation, status.update)
    verified = _verify(consultation) if verify else None
    document = as_document(consultation, verified)
    if out is not None:
        write_document(document, out, force=force)
    if as_json:
        typer.echo(json.dumps(as_data(consultation, verified), indent=1))
        return
    console = make_console()
    for line in [*as_text(document), *([str(out)] if out is not None else [])]:
        console.print(line, soft_wrap=not console.is_terminal, markup=False, highlight=False)


def _rules(name: str | None) -> tuple[Rule, ...]:
    from flatwater.advise.rules import RULES
    from flatwater.errors import UserError

    found = tuple(rule for rule in RULES if name is None or rule.name == name)
    if not found:
        names = ", ".join(rule.name for rule in RULES)
        raise UserError("there is no such rule", where=f"--rule {name}", hint=names)
    return found


def _verify(consultation: Consultation) -> Verified | None:
    """Tries the first change that an experiment can make; None if there is no advice."""
    from flatwater.advise import verify
    from flatwater.runner.progress import start_reporter

    if not consultation.advice:
        return None
    chosen = next((one for one in consultation.advice if one.change.overrides), consultation.advice[0])
    reporter = start_reporter()
    try:
        return verify(consultation.cell, chosen, reporter)
    finally:
        reporter.close()
