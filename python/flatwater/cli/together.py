"""`flatwater run --all`: many modelled experiments as one run, and a table of published figures beside ours."""

from __future__ import annotations

import json
import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from flatwater.cli.cell_lines import CellPrinter, metrics_at
from flatwater.cli.precautions import only_like_figures, require_few_cells, warn_of_baseline, warn_of_shortfall
from flatwater.cli.stores import Place, result_place

if TYPE_CHECKING:
    from flatwater.cli.request import RunRequest
    from flatwater.experiment.collection import Collection
    from flatwater.results import CellSummary, Result
    from flatwater.results.schema import CellStatus
    from flatwater.runner.executors.executor import Took
    from flatwater.runner.several import Together


def run_together(request: RunRequest) -> None:
    """Runs the experiments that the request names. Errors: UserError, FlatwaterError when one failed, Interrupted."""
    from flatwater.errors import UserError
    from flatwater.experiment.collection import collect
    from flatwater.results.schema import now_utc
    from flatwater.runner.executors import LOCAL

    if request.on != LOCAL:
        raise UserError("--all runs on this machine only", where="--on", hint="leave one of the two out")
    if request.load_on is not None:
        raise UserError("--all runs modelled experiments only, which no host makes a load for", where="--load-on")
    collection = collect(request.files, request.overrides, request.seed, programs=True)
    for name, experiment in collection.experiments.items():
        collection.experiments[name] = only_like_figures(experiment, request, collection.files[name], f"{name}: ")
    where = " ".join(request.files) or "the library"
    require_few_cells(list(collection.experiments.values()), request, where)
    for name, experiment in collection.experiments.items():
        warn_of_shortfall(experiment, f"{name}: ")
        warn_of_baseline(experiment, f"{name}: ")
    stamp = now_utc().replace(":", "").replace("-", "").replace("T", "-").split("+")[0]
    with result_place(request.out, resume=request.resume) as place:
        folder = place.folder or Path("results") / f"all-{stamp}-{secrets.token_hex(1)}"
        run_collection(collection, folder, request, place)
    if place.address is not None and not request.as_json:
        print(f"uploaded to: {place.address}")


def run_collection(collection: Collection, folder: Path, request: RunRequest, place: Place) -> None:
    """Runs the missing cells of a collection into a folder. Errors: FlatwaterError when one failed, Interrupted."""
    from flatwater.runner.several import run_several

    with CellPrinter(as_json=request.as_json) as printer, metrics_at(request.metrics, folder, printer):
        place.note = printer.note

        def print_cell(name: str, summary: CellSummary, done: int, total: int) -> None:
            printer.print(summary, done, total, name)

        def print_experiment(name: str, result: Result, status: CellStatus, error: str | None, took: Took) -> None:
            printer.note(f"{name}: {experiment_text(result, error or status, took)}")

        for name, why in collection.left_out.items():
            printer.note(f"left out: {name} {why}")
        ended = run_several(
            collection,
            folder,
            printer.reporter,
            print_cell,
            place.after(print_experiment),
            resume=request.resume,
            jobs=request.jobs,
        )
    print_table(folder, request)
    raise_unless_complete(ended, collection, folder, request)
    limited = [(name, folder / name) for name, one in collection.experiments.items() if one.thresholds is not None]
    if limited:
        from flatwater.cli.threshold_lines import raise_unless_passed

        raise_unless_passed(limited, as_json=request.as_json)


def experiment_text(result: Result, ended: str, took: Took) -> str:
    """The outcome of an experiment, its time, and its agreement with published figures."""
    from flatwater.report.tables import agreement_text
    from flatwater.report.units import number

    spent = f", {number(took.cpu_s, 3)} CPU s" if took.cpu_s else ""
    compared = agreement_text(result.agreement) if result.agreement is not None else ""
    return f"{ended}{spent}" + (f"; {compared}" if compared else "")


def print_table(folder: Path, request: RunRequest) -> None:
    """Prints the published figures beside the measured ones, of all results in a folder."""
    from flatwater.report.published import needless_reasons, published_data, published_lines, read_results
    from flatwater.results.started import shell_word

    named, left_out = read_results(folder)
    for line in needless_reasons(named):
        print(f"warning: {line}", file=sys.stderr)
    if request.as_json:
        print(json.dumps(published_data(named, left_out)), flush=True)
    else:
        for line in published_lines(named):
            print(line)
        print(f"results: {folder}")
        print(f"table: flatwater report {shell_word(str(folder))} --published published.md")
    sys.stdout.flush()


def raise_unless_complete(ended: Together, collection: Collection, folder: Path, request: RunRequest) -> None:
    """Raises Interrupted or FlatwaterError if cells are missing or failed."""
    from flatwater.errors import FlatwaterError, Interrupted
    from flatwater.results.started import resume_command

    if ended.status == "interrupted":
        hint = f"to go on: {resume_command(folder, *request.resume_options)}"
        raise Interrupted(f"interrupted; what was done is in {folder}", hint=hint)
    if ended.failures:
        name, why = next(iter(ended.failures.items()))
        many = f"{len(ended.failures)} of {len(collection.experiments)} experiments"
        raise FlatwaterError(f"{many} failed, the others are in {folder}; {name}: {why}")
