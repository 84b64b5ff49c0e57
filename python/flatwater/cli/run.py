"""`flatwater run`: runs an experiment."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flatwater.cli.arguments import ExperimentFile, Overrides

if TYPE_CHECKING:
    from flatwater.results import CellSummary

NAME = "run"
EXAMPLES = """\
[bold]Examples[/bold]

flatwater run demo --set storage.path=/mnt/flash

flatwater run my.toml --out results/monday --seed 7

flatwater run my.toml --set workload.threads=16 --json > cells.jsonl

flatwater run my.toml --out results/monday --resume

flatwater run my.toml --jobs 1

flatwater run my.toml --on tcp://scheduler:8786
"""

#: More cells than this are asked about first.
CELLS_ASKED = 1000
#: Of more cells than this, only those that failed are told one by one.
CELLS_TOLD = 100


def verb(
    file: ExperimentFile,
    set_: Overrides = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="The result folder; a new one under results/ if not given."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a cell, and nothing else.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Run thousands of cells without asking.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Do what a killed or failed run left in --out.")] = False,
    seed: Annotated[int | None, typer.Option("--seed", metavar="N", help="Replace the experiment's seed.")] = None,
    on: Annotated[
        str,
        typer.Option("--on", metavar="EXECUTOR", help="Where the cells run: local, or tcp://SCHEDULER:8786 of dask."),
    ] = "local",
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", "-j", metavar="N", min=1, help="Modelled cells at once; as many as cores if not given."),
    ] = None,
) -> None:
    """Run an experiment into a result folder."""
    from flatwater.errors import FlatwaterError, Interrupted, UserError
    from flatwater.experiment import count_cells, load, longest_s, print_duration
    from flatwater.runner.executors import make_executor
    from flatwater.runner.progress import start_reporter
    from flatwater.runner.sweep import default_folder, run_experiment

    executor = make_executor(on, jobs)
    experiment = load(file, set_ or [], seed)
    cells = count_cells(experiment)
    if cells > CELLS_ASKED and not yes:
        raise UserError(
            f"{cells:,} cells, about {print_duration(longest_s(experiment))}"
            f"{' of virtual time' if experiment.in_virtual_time else ''}",
            where=f"{file}: sweep",
            hint="sweep fewer values, or --yes if that is meant",
        )
    if resume and out is None:
        raise UserError("which result?", where="--resume", hint="give its folder with --out DIR")
    folder = out or default_folder(experiment)
    reporter = start_reporter()

    def tell(summary: CellSummary, done: int, total: int) -> None:
        if as_json:
            print(json.dumps(summary.model_dump(mode="json", exclude={"histograms"})), flush=True)
        elif total <= CELLS_TOLD or summary.status == "failed":
            reporter.note(cell_line(summary, done, total))

    try:
        outcome = run_experiment(experiment, folder, reporter, tell, resume=resume, executor=executor)
    finally:
        reporter.close()
    if not as_json:
        print(f"result: {folder}")
        print(f"report: flatwater report {folder}")
    if outcome.status == "interrupted":
        raise Interrupted(f"interrupted; what was measured is in {folder}", hint=f"--out {folder} --resume goes on")
    if outcome.status == "failed":
        raise FlatwaterError(f"the run failed, what was measured is in {folder}: {outcome.error}")
    sys.stdout.flush()


def cell_line(summary: CellSummary, done: int, total: int) -> str:
    """A finished cell in a line: what it was, what it gave."""
    label = ", ".join(f"{name.split('.')[-1]} {value}" for name, value in summary.set.items())
    place = f"[{done}/{total}] {label}: " if label else f"[{done}/{total}] "
    if summary.status == "failed" and total > 1:
        return f"{place}failed: {summary.error}"
    if summary.status != "complete":
        # Why the only cell failed is told at the end, as the run's error.
        return f"{place}{summary.status} after {summary.samples * summary.interval_s:g} s of measurement"
    return place + summary.verdict_text + "".join(f"\n      warning: {text}" for text in summary.warnings)
