"""`flatwater run`: runs an experiment."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flatwater.cli.arguments import OUT_HELP, ExperimentFiles, MetricsAt, Overrides
from flatwater.cli.cell_lines import CellPrinter, metrics_at
from flatwater.cli.load_hosts import load_hosts, require_division
from flatwater.cli.precautions import (
    only_like_figures,
    require_few_cells,
    warn_of_baseline,
    warn_of_shortfall,
)
from flatwater.cli.request import HERE, RunRequest
from flatwater.cli.stores import result_place

if TYPE_CHECKING:
    from flatwater.runner.sweep import Outcome

NAME = "run"
TAKES = ("out",)
EXAMPLES = """\
[bold]Examples[/bold]

flatwater run demo --set storage.path=/mnt/flash

flatwater run my.toml --out results/monday --seed 7

flatwater run my.toml --set workload.threads=16 --json > cells.jsonl

flatwater resume results/monday

flatwater run my.toml --jobs 1

flatwater run my.toml --metrics :9100

flatwater run my.toml --on tcp://scheduler:8786

flatwater run my.toml --set load.hosts=3 --load-on tcp://scheduler:8786

flatwater run my.toml --out s3://bucket/results/monday

flatwater run experiments/ --all

flatwater run stability log-block-card --all --out results/today --json
"""


def verb(
    files: ExperimentFiles = None,
    set_: Overrides = None,
    all_: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Run every modelled experiment of a folder, of several FILEs, or (with none) of the library, into one "
            "folder, with a table of what was published.",
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR|S3", help=OUT_HELP),
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print one JSON object a cell, then with --all the table, and nothing else."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Run thousands of cells without asking.")] = False,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Do what a killed or failed run left in --out.",
        ),
    ] = False,
    seed: Annotated[int | None, typer.Option("--seed", metavar="N", help="Replace the experiment's seed.")] = None,
    on: Annotated[
        str,
        typer.Option("--on", metavar="EXECUTOR", help="Where the cells run: local, or tcp://SCHEDULER:8786 of dask."),
    ] = HERE,
    load_on: Annotated[
        str | None,
        typer.Option(
            "--load-on",
            metavar="SCHEDULER",
            help="The hosts that make the load, where load.hosts is given: tcp://SCHEDULER:8786 of dask.",
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", "-j", metavar="N", min=1, help="Modelled cells at once; as many as cores if not given."),
    ] = None,
    metrics: MetricsAt = None,
) -> None:
    """Run an experiment into a result folder, or with --all many modelled ones."""
    request = RunRequest(
        files=tuple(files or ()),
        overrides=tuple(set_ or ()),
        seed=seed,
        out=out,
        on=on,
        load_on=load_on,
        jobs=jobs,
        metrics=metrics,
        as_json=as_json,
        yes=yes,
        resume=resume,
    )
    require_sense(request, together=all_)
    if all_:
        from flatwater.cli.together import run_together

        run_together(request)
    else:
        run(request)


def run(request: RunRequest) -> None:
    """Runs one experiment. Errors: UserError, FlatwaterError when it failed, Interrupted."""
    from flatwater.experiment import load, written_text
    from flatwater.results.started import Started
    from flatwater.runner.executors import make_executor
    from flatwater.runner.sweep import default_folder, run_experiment

    hosts = load_hosts(request.load_on)
    executor = make_executor(request.on, request.jobs, hosts)
    experiment = only_like_figures(
        load(request.file, request.overrides, request.seed, programs=True), request, request.file
    )
    require_division(experiment, request.load_on)
    require_few_cells([experiment], request, request.file)
    warn_of_shortfall(experiment)
    warn_of_baseline(experiment)
    started = Started(request.on, request.jobs, request.load_on)
    with result_place(request.out, resume=request.resume) as place:
        folder = place.folder or default_folder(experiment)
        printing = CellPrinter(as_json=request.as_json, names=experiment.report.names)
        with printing as printer, metrics_at(request.metrics, folder, printer):
            place.note = printer.note
            if (written := written_text(experiment)) is not None:
                printer.note(written)
            outcome = run_experiment(
                experiment,
                folder,
                printer.reporter,
                place.after(printer.print),
                resume=request.resume,
                executor=executor,
                started=started,
            )
        if outcome.status != "complete":
            print_result(outcome, folder, request)
        raise_unless_complete(outcome, folder, request)
    print_result(outcome, folder, request, place.address)
    if experiment.thresholds is not None:
        from flatwater.cli.threshold_lines import raise_unless_passed

        raise_unless_passed([(experiment.name, folder)], as_json=request.as_json)


def require_sense(request: RunRequest, *, together: bool) -> None:
    """Raises UserError if the arguments contradict each other, or name nothing to run."""
    from flatwater.errors import UserError

    if request.resume and request.out is None:
        raise UserError("which result?", where="--resume", hint="give its folder with --out DIR")
    for written in request.files:
        if "=" in written and not Path(written).exists():
            raise UserError("is no experiment file", where=written, hint=f"did you mean --set {written}?")
    if together:
        return
    if not request.files:
        hint = "`flatwater list` shows the library; --all runs all of it"
        raise UserError("which experiment?", where="FILE", hint=hint)
    if len(request.files) > 1:
        hint = "one at a time, or --all for modelled ones together"
        raise UserError(f"{len(request.files)} experiments", where="FILE", hint=hint)
    folder = Path(request.file)
    if folder.is_dir() and any(folder.glob("*.toml")):
        hint = "--all runs all that it holds"
        raise UserError("is a directory, not an experiment file", where=request.file, hint=hint)


def print_result(outcome: Outcome, folder: Path, request: RunRequest, address: str | None = None) -> None:
    """Prints the path of the result, and its agreement with published figures."""
    from flatwater.report.tables import agreement_text
    from flatwater.results.started import shell_word

    if not request.as_json:
        agreement = outcome.result.agreement
        if agreement is not None and (compared := agreement_text(agreement)):
            print(f"beside what was published: {compared}")
        print(f"result: {folder}" if address is None else f"result: {address}, and {folder}")
        print(f"report: flatwater report {shell_word(str(folder))}")
    sys.stdout.flush()


def raise_unless_complete(outcome: Outcome, folder: Path, request: RunRequest) -> None:
    """Raises Interrupted or FlatwaterError if cells are missing or failed."""
    from flatwater.errors import FlatwaterError, Interrupted
    from flatwater.results.started import resume_command

    if outcome.status == "interrupted":
        hint = f"to go on: {resume_command(folder, *request.resume_options)}"
        raise Interrupted(f"interrupted; what was measured is in {folder}", hint=hint)
    if outcome.status == "failed":
        raise FlatwaterError(f"the run failed, what was measured is in {folder}: {outcome.error}")
