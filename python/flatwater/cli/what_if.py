"""`flatwater what-if`: the throughput of a measured server with more memory, another card, a cache or settings."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from flatwater.printing import make_console

if TYPE_CHECKING:
    from rich.console import Console

    from flatwater.what_if import Base, Fitted, Prediction
    from flatwater.what_if.fitting import Explanation

#: A terminal of at least this many columns shows the ratio of each explanation.
WIDE = 100
NAME = "what-if"
EXAMPLES = """
[bold]Examples[/bold]

  flatwater what-if results/mine     more memory, a faster card, a cache, or settings?

  flatwater what-if results/mine --set database.settings.innodb_buffer_pool_size=48G

  flatwater what-if results/mine --set storage.device=samsung-pm9a3-7680-tlc --set database.cores=16     2 rows

  flatwater what-if results/mine --set storage.device=intel-910-200,database.cores=16     both at once

  flatwater what-if results/mine --set cache.storage.device=intel-910-200,cache.size=80GiB     a cache

  flatwater what-if results/mine --json | jq '.changes[0].ratio'
"""


def verb(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run of tpcc or oltp on a real server: its folder.")],
    overrides: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="FIELD=VALUE,...",
            help="A change: a row of the table. Fields with commas between them are one change. Repeatable.",
        ),
    ] = None,
    together: Annotated[bool, typer.Option("--together", help="All --set are one change.")] = False,
    cell: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Which cell of a sweep; its repeats are taken with it.")
    ] = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Give ratios of changes of the workload or the data's size too.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object, and nothing else, on standard output.")
    ] = False,
) -> None:
    """Predict what a measured server would do on a changed stack.

    A modelled twin is fitted to the run, and the error of the fit is shown. Then each change is made to the twin.

    Without --set the usual changes are predicted. 19 in 20 runs like the measured one are expected in the interval.
    """
    from flatwater.errors import UserError
    from flatwater.what_if import fit_twin, parse_changes, predict, read_base, usual_questions
    from flatwater.what_if.twin import Twin

    if together and not overrides:
        raise UserError("joins several --set, and there is none", where="--together", hint="--set FIELD=VALUE")
    errors = make_console(stderr=True)
    base = read_base(run, cell)
    with Twin(base) as twin, errors.status("reading...") as status:

        def progress(text: str) -> None:
            status.update(text)

        # Errors in the changes are reported before the fit, which takes long.
        changes = parse_changes(twin, overrides, together=together) if overrides else usual_questions(twin)
        fitted = fit_twin(twin, progress)
        found = predict(twin, fitted, changes, progress)
    found.sort(key=lambda one: -one.ratio)
    if as_json:
        typer.echo(json.dumps(as_data(base, fitted, found, anyway=anyway), indent=1))
        return
    _print(make_console(), base, fitted, found, anyway=anyway)


def _print(console: Console, base: Base, fitted: Fitted, found: list[Prediction], *, anyway: bool) -> None:
    from rich import box
    from rich.table import Table

    def say(text: str) -> None:
        console.print(text, soft_wrap=not console.is_terminal)

    runs = f"{base.runs} runs" if base.runs > 1 else "a run"
    say(
        f"{base.result.path}: {base.throughput:,.0f} {base.unit} on {base.server}, {runs} of {base.measure_s:.0f} s; "
        f"the mean of one run is uncertain by {196 * base.noise:.1f} %"
    )
    for note in base.notes:
        say(f"note: {note}")
    rows = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    rows.add_column("the twin", overflow="fold")
    for heading in ("measured", "model", "error %"):
        rows.add_column(heading, justify="right", no_wrap=True)
    rows.add_column("")
    for one in fitted.compared:
        error = f"{100 * one.error:+.1f}" if one.error is not None else "-"
        name = f"{one.name}, {one.unit}" if one.unit else one.name
        rows.add_row(name, f"{one.measured:,.4g}", f"{one.model:,.4g}", error, "given" if one.given else "")
    console.print(rows)
    for explanation in fitted.explanations:
        say(_fit(explanation))
    if len(fitted.explanations) < 2:
        say("note: the other explanation cannot give the measured throughput, and is left out")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    table.add_column("what if", overflow="fold")
    # The columns of the explanations need a wide terminal.
    each = [one.name for one in fitted.explanations] if console.width >= WIDE else []
    for heading in (base.unit, "95 % interval", "ratio", *(f"by {name}" for name in each)):
        table.add_column(heading, justify="right", no_wrap=heading != "ratio")
    for prediction in found:
        table.add_row(
            prediction.change.name,
            f"{prediction.throughput:,.0f}",
            f"{prediction.throughput_low:,.0f} to {prediction.throughput_high:,.0f}",
            _ratio(prediction) if comparable(prediction, anyway) else "not comparable",
            *(f"{prediction.ratios[name]:.3g}" if comparable(prediction, anyway) else "-" for name in each),
        )
    console.print(table)
    if not all(one.shown for one in found if comparable(one, anyway)):
        say("a ratio in brackets: no effect is shown, because the interval contains 1")
    for prediction in found:
        for note in prediction.notes:
            say(f"{prediction.change.name}: {note}")


def _fit(explanation: Explanation) -> str:
    """The fitted factor of an explanation, in a sentence."""
    if explanation.name == "CPU":
        return f"explained by CPU: transactions hold the cores for {explanation.scales.cpu:.3g} x the counted CPU time"
    return f"explained by storage: answers take {explanation.scales.storage:.3g} x the time that the device reported"


def comparable(one: Prediction, anyway: bool) -> bool:
    """Whether a change has a ratio: not if it changes the workload or the data's size, except with `--anyway`."""
    return anyway or not one.change.not_comparable


def _ratio(one: Prediction) -> str:
    return f"{one.ratio:.3g}" if one.shown else f"({one.ratio:.3g})"


def as_data(base: Base, fitted: Fitted, found: list[Prediction], *, anyway: bool = False) -> dict[str, object]:
    """The output of `--json`."""
    return {
        "run": str(base.result.path),
        "cells": base.cells,
        "server": base.server,
        "generation": base.generation,
        "throughput": base.throughput,
        "unit": base.unit,
        "noise": base.noise,
        "notes": base.notes,
        "fit": {
            "compared": [
                {
                    "name": one.name,
                    "unit": one.unit,
                    "measured": one.measured,
                    "model": one.model,
                    "error": one.error,
                    "given": one.given,
                }
                for one in fitted.compared
            ],
            "explanations": [
                {"name": one.name, "cpu": one.scales.cpu, "storage": one.scales.storage} for one in fitted.explanations
            ],
            "residual": fitted.residual,
            "storage_share": fitted.storage_share,
        },
        "changes": [
            {
                "name": one.change.name,
                "set": list(one.change.written),
                "comparable": "no" if one.change.not_comparable else "yes",
                "not_comparable": list(one.change.not_comparable),
                "ratio": one.ratio if comparable(one, anyway) else None,
                "low": one.low if comparable(one, anyway) else None,
                "high": one.high if comparable(one, anyway) else None,
                "throughput": one.throughput,
                "throughput_low": one.throughput_low,
                "throughput_high": one.throughput_high,
                "ratios": one.ratios if comparable(one, anyway) else None,
                "pages_read": one.pages_read,
                "pages_written": one.pages_written,
                "hit_ratio": one.hit_ratio,
                "notes": one.notes,
            }
            for one in found
        ],
    }
