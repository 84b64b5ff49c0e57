"""`flatwater fit`: a modelled device's free parameters, from measurements."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flatwater.cli.arguments import Json
from flatwater.printing import make_console

if TYPE_CHECKING:
    from rich.console import Console

    from flatwater.experiment.database.measured import Figure, MeasuredWorkload
    from flatwater.fit import Fit

#: In place of a device's name, this word selects the fit of a workload.
WORKLOAD = "workload"
NAME = "fit"
EXAMPLES = """
[bold]Examples[/bold]

  flatwater fit virident-tachion-400-slc fill.csv --free controller.write_mib_per_s,collector.relocation_mib_per_s

  flatwater fit ./mycard.toml results/threads results/fill --out mycard-fitted.toml     from your own runs

  flatwater fit virident-tachion-400-slc fill-level-tachion-400     from an experiment's published figures

  flatwater fit workload results/fit-workload-tpcc --out mine.toml     what a real server's transactions cost

[bold]A table[/bold] is a CSV file: metric (MiB/s, IOPS, p50_us, p95_us, p99_us) and value, and how it was measured:
fill or used_bytes, mode, block_size, threads, queue_depth, engine, initial, reserve_pct, source.

  fill,engine,queue_depth,metric,value
  0.2,io_uring,128,MiB/s,990
  1.0,io_uring,128,MiB/s,417
"""


def verb(
    device: Annotated[
        str, typer.Argument(metavar="DEVICE", help="A device's name, or its TOML file; or the word workload.")
    ],
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
    as_json: Json = False,
) -> None:
    """Calibrate a model: a device, or (`flatwater fit workload RUN`) the cost of a server's transactions.

    For a device, it finds the free parameters with which the model is nearest to the measurements.

    The model is the engine itself, on a small copy of the device. The output shows every row beside the model, the
    parameters with their 95 % intervals, and the parameters that the rows cannot tell apart.
    """
    from flatwater.errors import UserError
    from flatwater.fit import Evaluator, fit, fitted_names, read_measurements, to_device_toml

    if out is not None and out.exists():
        raise UserError("exists already", where=str(out), hint="give another --out")
    if device == WORKLOAD:
        if free is not None or len(tables) != 1:
            hint = "flatwater fit workload RUN --out FILE"
            raise UserError("takes one run, and has no --free", where=WORKLOAD, hint=hint)
        _fit_workload(tables[0], out, as_json=as_json)
        return
    rows = read_measurements(tables)
    names = [name.strip() for name in free.split(",") if name.strip()] if free is not None else fitted_names(device)
    if free is None and not names:
        hint = "--free controller.write_mib_per_s,..."
        raise UserError("the device's file has no fitted figure: say what is free", where=device, hint=hint)
    evaluator = Evaluator(device, seed=seed)
    errors = make_console(stderr=True)
    with errors.status("simulating...") as status:
        found = fit(evaluator, rows, names, progress=_progress(status.update))
    if out is not None:
        _keep(out, to_device_toml(device, found, [str(table) for table in tables]))
    if as_json:
        typer.echo(json.dumps(_as_json(device, found), indent=1))
        return
    console = make_console()
    _print(console, found)
    if out is not None:
        console.print(f"written: {out}", soft_wrap=True)


def _fit_workload(run: str, out: Path | None, *, as_json: bool) -> None:
    """Prints the cost of transactions on the real server of a run, and writes it as a measured workload."""
    from flatwater.fit.workload import count_run, derive, to_workload_toml

    found = derive(count_run(run))
    if out is not None:
        _keep(out, to_workload_toml(found))
    if as_json:
        typer.echo(json.dumps(found.model_dump(), indent=1))
        return
    console = make_console()
    _print_workload(console, found)
    if out is not None:
        console.print(f"written: {out}", soft_wrap=True)


def _keep(out: Path, text: str) -> None:
    """Writes the result into a new file. Errors: UserError, also if the file exists."""
    from flatwater.errors import UserError
    from flatwater.owned import write_new

    try:
        write_new(out, text)
    except FileExistsError:
        raise UserError("exists already", where=str(out), hint="give another --out") from None
    except OSError as error:
        raise UserError(f"cannot write it: {error.strerror}", where=str(out), hint="give another --out") from None


def _print_workload(console: Console, found: MeasuredWorkload) -> None:
    from rich import box
    from rich.table import Table

    console.print(f"{found.title}, {found.date}: {found.transactions} transactions", soft_wrap=True)
    figures = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    figures.add_column("of a transaction", overflow="fold")
    for heading in ("measured", "95 % +-"):
        figures.add_column(heading, justify="right", no_wrap=True)
    named: list[tuple[str, Figure]] = [("statements", found.statements), ("page requests", found.page_requests)]
    named += [(f"redo, {name.replace('_', ' ')}, bytes", figure) for name, figure in found.redo_bytes.items()]
    costs = found.cpu_us
    named += [("server CPU of a statement, us", costs.statement), ("server CPU of a page read, us", costs.page_read)]
    named.append(("server CPU of a page written, us", costs.page_written))
    for name, figure in named:
        figures.add_row(name, f"{figure.value:.5g}", "-" if figure.ci95 is None else f"{figure.ci95:.3g}")
    console.print(figures)
    cells = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for heading in ("pool share", "transactions", "pages read", "written", "requests", "redo bytes", "CPU us"):
        cells.add_column(heading, justify="right", no_wrap=True)
    for cell in found.cells:
        told = (cell.pages_read, cell.pages_written, cell.page_requests, cell.redo_bytes, cell.cpu_us)
        cells.add_row(f"{cell.pool_share:.3g}", str(cell.transactions), *(f"{value:.4g}" for value in told))
    console.print(cells)
    for note in found.notes:
        console.print(f"note: {note}", soft_wrap=True)


def _progress(update: Callable[[str], None]) -> Callable[[int, float], None]:
    def show(runs: int, rms: float) -> None:
        update(f"{runs} simulations, rms error {100 * rms:.2f} %")

    return show


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
        console.print(f"warning: {confusion.text}", soft_wrap=not console.is_terminal)


def _as_json(device: str, found: Fit) -> dict[str, object]:
    from dataclasses import asdict

    return {
        "device": device,
        "rms_before": found.rms_before,
        "rms": found.rms,
        "worst": found.worst.error,
        "simulations": found.runs,
        # JSON has no infinity, which stands for an interval without an end or for collinear parameters.
        "parameters": [{name: _finite(value) for name, value in asdict(one).items()} for one in found.parameters],
        "rows": [{**asdict(row.measured), "model": row.model, "error": row.error} for row in found.rows],
        "confusions": [{name: _finite(value) for name, value in asdict(one).items()} for one in found.confusions],
    }


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and value == float("inf") else value
