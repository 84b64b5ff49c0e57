"""`flatwater what-if`: the throughput of a measured server with more memory, another card, a cache or settings."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from flatwater.cli.arguments import DocumentFile, Force, Json
from flatwater.cli.stores import Wanted
from flatwater.printing import make_console

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import Console

    from flatwater.report.document import Document
    from flatwater.what_if import Base, Fitted, Prediction
    from flatwater.what_if.fitting import Explanation

#: A terminal of at least this many columns shows the ratio of each explanation.
WIDE = 100
NAME = "what-if"
READS = {"run": Wanted.WHOLE}
EXAMPLES = """
[bold]Examples[/bold]

  flatwater what-if results/mine     more memory, a faster card, a cache, or settings?

  flatwater what-if results/mine --set database.settings.innodb_buffer_pool_size=48G

  flatwater what-if results/mine --set storage.device=samsung-pm9a3-7680-tlc --set database.cores=16     2 rows

  flatwater what-if results/mine --set storage.device=intel-910-200,database.cores=16     both at once

  flatwater what-if results/mine --set cache.storage.device=intel-910-200,cache.size=80GiB     a cache

  flatwater what-if results/mine --out page.html     or page.md

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
    out: DocumentFile = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Predict what a measured server would do on a changed stack.

    A modelled twin is fitted to the run, and the error of the fit is shown. Then each change is made to the twin.

    Without --set the usual changes are predicted. 19 in 20 runs like the measured one are expected in the interval.
    """
    from flatwater.errors import UserError
    from flatwater.report.document import require_document_place, write_document
    from flatwater.what_if import fit_twin, parse_changes, predict, read_base, split, usual_questions
    from flatwater.what_if.twin import Twin

    if together and not overrides:
        raise UserError("joins several --set, and there is none", where="--together", hint="--set FIELD=VALUE")
    if out is not None:
        require_document_place(out, force=force)
    errors = make_console(stderr=True)
    base = read_base(run, cell)
    with Twin(base) as twin, errors.status("reading...") as status:

        def progress(text: str) -> None:
            status.update(text)

        # Errors in the changes are reported before the fit, which takes long.
        asked = parse_changes(twin, overrides, together=together) if overrides else usual_questions(twin)
        changes, refused = split(twin, asked)
        fitted = fit_twin(twin, progress)
        found = predict(twin, fitted, changes, progress)
    found.sort(key=lambda one: -one.ratio)
    if out is not None:
        write_document(as_document(base, fitted, found, refused, anyway=anyway), out, force=force)
    if as_json:
        typer.echo(json.dumps(as_data(base, fitted, found, refused, anyway=anyway), indent=1))
        return
    _print(make_console(), base, fitted, found, refused, anyway=anyway)


#: The columns of the table that tells how well the twin does what was measured.
_FIT_HEADINGS = ("the twin", "measured", "model", "error %", "")


def _print(
    console: Console, base: Base, fitted: Fitted, found: list[Prediction], refused: Mapping[str, str], *, anyway: bool
) -> None:
    from rich import box
    from rich.table import Table

    def say(text: str) -> None:
        console.print(text, soft_wrap=not console.is_terminal)

    say(_measured(base))
    for note in base.notes:
        say(f"note: {note}")
    rows = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    rows.add_column(_FIT_HEADINGS[0], overflow="fold")
    for heading in _FIT_HEADINGS[1:4]:
        rows.add_column(heading, justify="right", no_wrap=True)
    rows.add_column(_FIT_HEADINGS[4])
    for row in _fit_rows(fitted):
        rows.add_row(*row)
    console.print(rows)
    for sentence in _explained(fitted):
        say(sentence)
    for doubt in fitted.doubts:
        say(f"warning: {doubt}")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    table.add_column("what if", overflow="fold")
    # The columns of the explanations need a wide terminal.
    each = [one.name for one in fitted.explanations] if console.width >= WIDE else []
    for heading in _headings(base, each):
        table.add_column(heading, justify="right", no_wrap=heading != "ratio")
    for row in _predicted_rows(found, refused, each, anyway=anyway, marked=fitted.unreliable is not None):
        table.add_row(*row)
    console.print(table)
    for sentence in _remarks(found, refused, anyway=anyway):
        say(sentence)


def as_document(
    base: Base, fitted: Fitted, found: list[Prediction], refused: Mapping[str, str], *, anyway: bool = False
) -> Document:
    """The predictions as a page or as Markdown: each change, how well the twin fits, and what must be known."""
    from flatwater.report.document import Document, Heading, Items, Rows

    each = [one.name for one in fitted.explanations]
    head = ("what if", *_headings(base, each))
    marked = fitted.unreliable is not None
    rows = Rows(
        head, tuple(_predicted_rows(found, refused, each, anyway=anyway, marked=marked)), frozenset(range(1, len(head)))
    )
    fit = Rows(_FIT_HEADINGS, tuple(_fit_rows(fitted)), frozenset({1, 2, 3}))
    doubts = (f"warning: {doubt}" for doubt in fitted.doubts)
    remarks = Items((*doubts, *_remarks(found, refused, anyway=anyway), *base.notes))
    blocks = (rows, remarks, Heading("How well the twin does what was measured"), fit, Items((*_explained(fitted),)))
    return Document(f"What if: {base.result.path.name}", _measured(base), blocks)


def _measured(base: Base) -> str:
    from flatwater.stores import shown

    runs = f"{base.runs} runs" if base.runs > 1 else "a run"
    return (
        f"{shown(base.result.path)}: {base.throughput:,.0f} {base.unit} on {base.server}, {runs} of "
        f"{base.measure_s:.0f} s; "
        f"the mean of one run is uncertain by {196 * base.noise:.1f} %"
    )


def _fit_rows(fitted: Fitted) -> Iterator[tuple[str, ...]]:
    for one in fitted.compared:
        error = f"{100 * one.error:+.1f}" if one.error is not None else "-"
        name = f"{one.name}, {one.unit}" if one.unit else one.name
        yield name, f"{one.measured:,.4g}", f"{one.model:,.4g}", error, "given" if one.given else ""


def _explained(fitted: Fitted) -> Iterator[str]:
    yield from (_fit(explanation) for explanation in fitted.explanations)
    if len(fitted.explanations) < 3:
        yield "note: the other explanations cannot give the measured throughput, and are left out"


def _headings(base: Base, each: Sequence[str]) -> tuple[str, ...]:
    return base.unit, "95 % interval", "ratio", *(f"by {name}" for name in each)


def _predicted_rows(
    found: list[Prediction], refused: Mapping[str, str], each: Sequence[str], *, anyway: bool, marked: bool
) -> Iterator[tuple[str, ...]]:
    for one in found:
        like = comparable(one, anyway)
        yield (
            one.change.name,
            f"{one.throughput:,.0f}",
            f"{one.throughput_low:,.0f} to {one.throughput_high:,.0f}",
            _ratio(one) + (" ?" if marked or one.doubt else "") if like else "not comparable",
            *(f"{one.ratios[name]:.3g}" if like else "-" for name in each),
        )
    yield from ((name, "-", "-", "not predicted", *("-" for _ in each)) for name in refused)


def _remarks(found: list[Prediction], refused: Mapping[str, str], *, anyway: bool) -> Iterator[str]:
    if not all(one.shown for one in found if comparable(one, anyway)):
        yield "a ratio in brackets: no effect is shown, because the interval contains 1"
    for one in found:
        yield from (f"{one.change.name}: {note}" for note in one.notes)
        if one.doubt is not None and comparable(one, anyway):
            yield f"{one.change.name}: {one.doubt}; a ratio with ? is not to be relied on"
    yield from (f"{name}: not predicted: {why}" for name, why in refused.items())


def _fit(explanation: Explanation) -> str:
    """The fitted factor of an explanation, in a sentence."""
    if explanation.name == "CPU":
        return f"explained by CPU: transactions hold the cores for {explanation.scales.cpu:.3g} x the counted CPU time"
    if explanation.name == "waiting":
        what = "for what the model does not have, such as row locks"
        return f"explained by waiting: each statement waits {explanation.scales.wait_us:,.0f} us {what}"
    return f"explained by storage: answers take {explanation.scales.storage:.3g} x the time that the device reported"


def comparable(one: Prediction, anyway: bool) -> bool:
    """Whether a change has a ratio: not if it changes the workload or the data's size, except with `--anyway`."""
    return anyway or not one.change.not_comparable


def _ratio(one: Prediction) -> str:
    return f"{one.ratio:.3g}" if one.shown else f"({one.ratio:.3g})"


def as_data(
    base: Base, fitted: Fitted, found: list[Prediction], refused: Mapping[str, str], *, anyway: bool = False
) -> dict[str, object]:
    """The output of `--json`. `refused`: the changes that are not predicted, and why."""
    from flatwater.stores import shown

    return {
        "run": shown(base.result.path),
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
                {
                    "name": one.name,
                    "cpu": one.scales.cpu,
                    "storage": one.scales.storage,
                    "wait_us": one.scales.wait_us,
                }
                for one in fitted.explanations
            ],
            "residual": fitted.residual,
            "doubts": fitted.doubts,
            "storage_share": fitted.storage_share,
        },
        "changes": [
            {
                "name": one.change.name,
                "set": list(one.change.written),
                "comparable": "no" if one.change.not_comparable else "yes",
                "not_comparable": list(one.change.not_comparable),
                "ratio": one.ratio if comparable(one, anyway) else None,
                "reliable": fitted.unreliable is None and one.doubt is None,
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
        "not_predicted": [{"name": name, "why": why} for name, why in refused.items()],
    }
