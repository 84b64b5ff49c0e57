"""`flatwater run`: runs an experiment."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flatwater.cli.arguments import ExperimentFiles, Overrides
from flatwater.cli.warned import Warned

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flatwater.experiment import Experiment
    from flatwater.results import CellSummary

NAME = "run"
EXAMPLES = """\
[bold]Examples[/bold]

flatwater run demo --set storage.path=/mnt/flash

flatwater run my.toml --out results/monday --seed 7

flatwater run my.toml --set workload.threads=16 --json > cells.jsonl

flatwater resume results/monday

flatwater run my.toml --jobs 1

flatwater run my.toml --on tcp://scheduler:8786

flatwater run experiments/ --all

flatwater run stability log-block-card --all --out results/today --json
"""

#: More cells than this are asked about first.
CELLS_ASKED = 1000
#: Of more cells than this, only those that failed are told one by one.
CELLS_TOLD = 100


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
        typer.Option("--out", "-o", metavar="DIR", help="The result folder; a new one under results/ if not given."),
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
    ] = "local",
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", "-j", metavar="N", min=1, help="Modelled cells at once; as many as cores if not given."),
    ] = None,
) -> None:
    """Run an experiment into a result folder, or with --all many modelled ones."""
    from flatwater.errors import UserError

    if resume and out is None:
        raise UserError("which result?", where="--resume", hint="give its folder with --out DIR")
    given = files or []
    for written in given:
        if "=" in written and not Path(written).exists():
            raise UserError("is no experiment file", where=written, hint=f"did you mean --set {written}?")
    if all_:
        from flatwater.cli.together import run_all

        run_all(given, set_ or [], seed, out, jobs, on=on, as_json=as_json, yes=yes, resume=resume)
        return
    if not given:
        raise UserError(
            "which experiment?", where="FILE", hint="`flatwater list` shows the library; --all runs all of it"
        )
    if len(given) > 1:
        raise UserError(
            f"{len(given)} experiments", where="FILE", hint="one at a time, or --all for modelled ones together"
        )
    if Path(given[0]).is_dir() and any(Path(given[0]).glob("*.toml")):
        raise UserError("is a directory, not an experiment file", where=given[0], hint="--all runs all that it holds")
    run_one(given[0], set_ or [], seed, out, jobs, on=on, as_json=as_json, yes=yes, resume=resume)


def run_one(
    file: str,
    overrides: list[str],
    seed: int | None,
    out: Path | None,
    jobs: int | None,
    *,
    on: str,
    as_json: bool,
    yes: bool,
    resume: bool,
) -> None:
    """Runs one experiment. Errors: UserError, FlatwaterError when it failed, Interrupted."""
    from flatwater.errors import FlatwaterError, Interrupted
    from flatwater.experiment import count_cells, load
    from flatwater.report.tables import agreement_text
    from flatwater.results.started import Started, resume_command
    from flatwater.runner.executors import make_executor
    from flatwater.runner.progress import start_reporter
    from flatwater.runner.sweep import default_folder, run_experiment
    from flatwater.runner.verdicts import find_shortfall

    executor = make_executor(on, jobs)
    experiment = load(file, overrides, seed)
    ask_for_many(count_cells(experiment), [experiment], file, yes=yes)
    shortfall = find_shortfall(experiment)
    if shortfall is not None:
        print(f"warning: {shortfall.text}", file=sys.stderr, flush=True)
    folder = out or default_folder(experiment)
    reporter = start_reporter()
    warned = Warned()

    def tell(summary: CellSummary, done: int, total: int) -> None:
        if as_json:
            print_cell(summary)
        elif total <= CELLS_TOLD or summary.status == "failed":
            reporter.note(cell_line(summary, done, total))
        warned.add(summary, cell_label(summary))

    try:
        started = Started(on, jobs)
        outcome = run_experiment(experiment, folder, reporter, tell, resume=resume, executor=executor, started=started)
    finally:
        if not as_json:
            for line in warned.lines():
                reporter.note(line)
        reporter.close()
    if not as_json:
        agreement = outcome.result.agreement
        if agreement is not None and (told := agreement_text(agreement)):
            print(f"beside what was published: {told}")
        print(f"result: {folder}")
        print(f"report: flatwater report {folder}")
    if outcome.status == "interrupted":
        hint = f"to go on: {resume_command(folder, *json_too(as_json))}"
        raise Interrupted(f"interrupted; what was measured is in {folder}", hint=hint)
    if outcome.status == "failed":
        raise FlatwaterError(f"the run failed, what was measured is in {folder}: {outcome.error}")
    sys.stdout.flush()


def json_too(as_json: bool) -> list[str]:
    """The option of a command that goes on as this one was."""
    return ["--json"] if as_json else []


def ask_for_many(cells: int, experiments: Sequence[Experiment], file: str, *, yes: bool) -> None:
    """Raises UserError where so many cells are that it may be a slip of the hand."""
    from flatwater.errors import UserError
    from flatwater.experiment import longest_s, print_duration

    if cells > CELLS_ASKED and not yes:
        virtual = " of virtual time" if all(experiment.in_virtual_time for experiment in experiments) else ""
        raise UserError(
            f"{cells:,} cells, about {print_duration(sum(map(longest_s, experiments)))}{virtual}",
            where=f"{file}: sweep",
            hint="sweep fewer values, or --yes if that is meant",
        )


def print_cell(summary: CellSummary, **more: str) -> None:
    """A cell as a line of JSON, without what only programs that read results want."""
    print(json.dumps(more | summary.model_dump(mode="json", exclude={"histograms"})), flush=True)


def cell_label(summary: CellSummary) -> str:
    """What a cell is, in its sweep."""
    return ", ".join(f"{name.split('.')[-1]} {value}" for name, value in summary.set.items())


def cell_line(summary: CellSummary, done: int, total: int) -> str:
    """A finished cell in a line: what it was, what it gave."""
    from flatwater.experiment import print_duration

    label = cell_label(summary)
    place = f"[{done}/{total}] {label}: " if label else f"[{done}/{total}] "
    if summary.status == "failed" and total > 1:
        return f"{place}failed: {summary.error}"
    if summary.status != "complete":
        # It is none of those done, and why the only cell failed is told at the end, as the run's error.
        measured = print_duration(summary.samples * summary.interval_s)
        return f"{label or 'cell'}: {summary.status} after {measured} of measurement"
    return place + summary.verdict_text
