"""`flatwater fit`: a modelled device's free parameters, from measurements."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from flatwater.fit import Fit

NAME = "fit"
EXAMPLES = """
[bold]Examples[/bold]

  flatwater fit virident-tachion-400-slc fill.csv --free controller.write_mib_per_s,collector.relocation_mib_per_s

  flatwater fit ./mycard.toml results/threads results/fill --out mycard-fitted.toml     from your own runs

  flatwater fit virident-tachion-400-slc fill-level-tachion-400     from an experiment's published figures

[bold]A table[/bold] is a CSV file: metric (MiB/s, IOPS, p50_us, p95_us, p99_us) and value, and how it was measured:
fill or used_bytes, mode, block_size, threads, queue_depth, engine, initial, reserve_pct, source.

  fill,engine,queue_depth,metric,value
  0.2,io_uring,128,MiB/s,990
  1.0,io_uring,128,MiB/s,417
"""


def verb(
    device: Annotated[str, typer.Argument(metavar="DEVICE", help="A device's name, or its TOML file.")],
    tables: Annotated[
        list[str],
        typer.Argument(metavar="TABLE", help="CSV files, result folders, or experiments with published figures."),
    ],
    free: Annotated[
        str | None,
        typer.Option(metavar="NAME,NAME", help="What to fit; without it, what the device's file says was fitted."),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the fitted device's TOML file here.")] = None,
    seed: Annotated[int, typer.Option(help="Of the simulated requests: the same for all steps.")] = 1,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object, and nothing else, on standard output.")
    ] = False,
) -> None:
    """Calibrate a modelled device: the free parameters with which it comes nearest to what was measured.

    The model is the engine itself, on a small copy of the device. What is told: every row beside the model, the
    parameters with their 95 % intervals, and which of them the rows cannot tell apart.
    """
    from rich.console import Console

    from flatwater.errors import UserError
    from flatwater.fit import Evaluator, fit, fitted_names, read_measurements, to_device_toml

    if out is not None and out.exists():
        raise UserError("exists already", where=str(out), hint="give another --out")
    rows = read_measurements(tables)
    names = [name.strip() for name in free.split(",") if name.strip()] if free is not None else fitted_names(device)
    if free is None and not names:
        hint = "--free controller.write_mib_per_s,..."
        raise UserError("the device's file has no fitted figure: say what is free", where=device, hint=hint)
    evaluator = Evaluator(device, seed=seed)
    errors = Console(stderr=True, highlight=False)
    with errors.status("simulating...") as status:
        found = fit(evaluator, rows, names, progress=_progress(status.update))
    if out is not None:
        out.write_text(to_device_toml(device, found, [str(table) for table in tables]), encoding="utf-8")
    if as_json:
        typer.echo(json.dumps(_as_json(device, found), indent=1))
        return
    console = Console(highlight=False)
    _print(console, found)
    if out is not None:
        console.print(f"written: {out}", markup=False, soft_wrap=True)


def _progress(update: Callable[[str], None]) -> Callable[[int, float], None]:
    def told(runs: int, rms: float) -> None:
        update(f"{runs} simulations, rms error {100 * rms:.2f} %")

    return told


def _print(console: Console, found: Fit) -> None:
    from rich import box
    from rich.table import Table

    rows = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    rows.add_column("measured under", overflow="fold")
    rows.add_column("metric")
    for heading in ("measured", "model", "error %"):
        rows.add_column(heading, justify="right", no_wrap=True)
    for row in found.rows:
        measured = row.measured
        figures = (f"{measured.value:.5g}", f"{row.model:.5g}", f"{100 * row.error:+.1f}")
        rows.add_row(str(measured.condition), measured.metric, *figures)
    console.print(rows)
    worst = found.worst
    console.print(
        f"rms error {100 * found.rms:.1f} % (before the fit {100 * found.rms_before:.1f} %); worst "
        f"{100 * worst.error:+.1f} %: {worst.measured.condition} ({found.runs} simulations)",
        markup=False,
        soft_wrap=True,
    )
    parameters = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    parameters.add_column("parameter", overflow="fold")
    for heading in ("before", "fitted", "95 % interval"):
        parameters.add_column(heading, justify="right", no_wrap=True)
    for one in found.parameters:
        interval = f"{one.low:.4g} to {one.high:.4g}" if one.low is not None and one.high is not None else "any"
        note = " (at its bound)" if one.at_bound else ""
        parameters.add_row(one.name, f"{one.before:.5g}", f"{one.value:.5g}{note}", interval)
    console.print(parameters)
    for confusion in found.confusions:
        console.print(f"warning: {confusion.text}", markup=False, soft_wrap=not console.is_terminal)


def _as_json(device: str, found: Fit) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "device": device,
        "rms_before": found.rms_before,
        "rms": found.rms,
        "worst": found.worst.error,
        "simulations": found.runs,
        # JSON has no infinity: an interval without an end, parameters that are exactly collinear.
        "parameters": [{name: _finite(value) for name, value in asdict(one).items()} for one in found.parameters],
        "rows": [{**asdict(row.measured), "model": row.model, "error": row.error} for row in found.rows],
        "confusions": [{name: _finite(value) for name, value in asdict(one).items()} for one in found.confusions],
    }


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and value == float("inf") else value
