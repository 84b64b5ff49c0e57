"""`flatwater run --all`: many modelled experiments as one run, and the table of what was published beside ours."""

from __future__ import annotations

import json
import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from flatwater.cli.run import CELLS_TOLD, ask_for_many, cell_label, cell_line, json_too, print_cell
from flatwater.cli.warned import Warned

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flatwater.experiment.collection import Collection
    from flatwater.results import CellSummary, Result
    from flatwater.results.schema import CellStatus
    from flatwater.runner.executors.executor import Took


def run_all(
    given: Sequence[str],
    overrides: Sequence[str],
    seed: int | None,
    out: Path | None,
    jobs: int | None,
    *,
    on: str,
    as_json: bool,
    yes: bool,
    resume: bool,
) -> None:
    """Runs the experiments that `given` names. Errors: UserError, FlatwaterError when one failed, Interrupted."""
    from flatwater.errors import UserError
    from flatwater.experiment.collection import collect
    from flatwater.results.folder import now_utc
    from flatwater.runner.executors import LOCAL
    from flatwater.runner.verdicts import find_shortfall

    if on != LOCAL:
        raise UserError("--all runs on this machine only", where="--on", hint="leave one of the two out")
    collection = collect(given, overrides, seed)
    ask_for_many(collection.cells, list(collection.experiments.values()), " ".join(given) or "the library", yes=yes)
    for name, experiment in collection.experiments.items():
        if (shortfall := find_shortfall(experiment)) is not None:
            print(f"warning: {name}: {shortfall.text}", file=sys.stderr, flush=True)
    stamp = now_utc().replace(":", "").replace("-", "").replace("T", "-").split("+")[0]
    folder = out or Path("results") / f"all-{stamp}-{secrets.token_hex(1)}"
    run_collection(collection, folder, jobs, as_json=as_json, resume=resume)


def run_collection(collection: Collection, folder: Path, jobs: int | None, *, as_json: bool, resume: bool) -> None:
    """Runs what is missing of a collection into a folder. Errors: FlatwaterError when one failed, Interrupted."""
    from flatwater.errors import FlatwaterError, Interrupted
    from flatwater.report.published import needless_reasons, published_data, published_lines, read_results
    from flatwater.report.tables import agreement_text
    from flatwater.report.units import number
    from flatwater.results.started import resume_command
    from flatwater.runner.progress import start_reporter
    from flatwater.runner.several import run_several

    reporter = start_reporter()
    if not as_json:
        for name, why in collection.left_out.items():
            reporter.note(f"left out: {name} {why}")
    few = collection.cells <= CELLS_TOLD
    warned = Warned()

    def tell(name: str, summary: CellSummary, done: int, total: int) -> None:
        if as_json:
            print_cell(summary, experiment=name)
        elif few or summary.status == "failed":
            reporter.note(f"{name} {cell_line(summary, done, total)}")
        warned.add(summary, f"{name} {cell_label(summary)}".strip())

    def tell_experiment(name: str, result: Result, status: CellStatus, error: str | None, took: Took) -> None:
        if not as_json:
            told = agreement_text(result.agreement) if result.agreement is not None else ""
            spent = f", {number(took.cpu_s, 3)} CPU s" if took.cpu_s else ""
            reporter.note(f"{name}: {error or status}{spent}" + (f"; {told}" if told else ""))

    try:
        ended = run_several(collection, folder, reporter, tell, tell_experiment, resume=resume, jobs=jobs)
    finally:
        if not as_json:
            for line in warned.lines():
                reporter.note(line)
        reporter.close()
    named, left_out = read_results(folder)
    for line in needless_reasons(named):
        print(f"warning: {line}", file=sys.stderr)
    if as_json:
        print(json.dumps(published_data(named, left_out)), flush=True)
    else:
        for line in published_lines(named):
            print(line)
        print(f"results: {folder}")
        print(f"table: flatwater report {folder} --published published.md")
    sys.stdout.flush()
    if ended.status == "interrupted":
        hint = f"to go on: {resume_command(folder, *json_too(as_json))}"
        raise Interrupted(f"interrupted; what was done is in {folder}", hint=hint)
    if ended.failures:
        name, why = next(iter(ended.failures.items()))
        many = f"{len(ended.failures)} of {len(collection.experiments)} experiments"
        raise FlatwaterError(f"{many} failed, the others are in {folder}; {name}: {why}")
