"""`flatwater resume`: continues an unfinished run."""

from __future__ import annotations

import os
from contextlib import chdir
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flatwater.cli.arguments import MetricsAt

if TYPE_CHECKING:
    from flatwater.experiment.collection import Collection

NAME = "resume"
TAKES = ("result",)
EXAMPLES = """\
[bold]Examples[/bold]

flatwater resume results/monday

flatwater resume results/monday --json > rest.jsonl

flatwater resume s3://bucket/results/monday

flatwater resume results/all-20261122-1  [dim]what `run --all` left[/dim]
"""


def verb(
    result: Annotated[
        Path, typer.Argument(help="The result folder of `flatwater run`, or of `run --all`; or s3://BUCKET/PREFIX.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a cell, and nothing else.")] = False,
    on: Annotated[
        str | None,
        typer.Option("--on", metavar="EXECUTOR", help="Where the cells run: as when it was begun if not given."),
    ] = None,
    load_on: Annotated[
        str | None,
        typer.Option("--load-on", metavar="SCHEDULER", help="Which hosts make the load: as when it was begun."),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", "-j", metavar="N", min=1, help="Modelled cells at once: as when it was begun."),
    ] = None,
    metrics: MetricsAt = None,
) -> None:
    """Go on with a run that was killed, interrupted or failed.

    The experiment is the one in the folder, and relative paths in it count from where it was begun. What was measured
    stays; only what is missing is run. A run of s3://BUCKET/PREFIX goes on in its folder here, which is fetched if it
    is not there.
    """
    from flatwater.cli.request import RunRequest
    from flatwater.cli.run import run
    from flatwater.cli.stores import folder_to_resume, result_place
    from flatwater.cli.together import run_collection
    from flatwater.errors import UserError
    from flatwater.results import open_result
    from flatwater.results.collection import INDEX
    from flatwater.results.started import IMPORTED, read_started

    out = folder_to_resume(result).absolute()
    together = (out / INDEX).exists()
    if not together and open_result(out).manifest.source != "run":
        raise UserError(IMPORTED, where=str(result))
    started, place = read_started(out)
    if place is not None and not place.is_dir():
        hint = "make it again, or flatwater run EXPERIMENT --out RESULT --resume"
        raise UserError(f"it was begun in {place}, which is not there", where=str(result), hint=hint)
    with chdir(place or os.curdir):
        request = RunRequest(
            files=(str(out / "experiment.toml"),),
            out=out,
            on=on or started.on,
            load_on=load_on or started.load_on,
            jobs=jobs or started.jobs,
            metrics=metrics,
            as_json=as_json,
            yes=True,
            resume=True,
        )
        if together:
            with result_place(out, resume=True) as uploading:
                run_collection(_collection(out), out, request, uploading)
        else:
            run(request)


def _collection(out: Path) -> Collection:
    """The experiments of a run of many, as that run resolved them. Errors: UserError."""
    from flatwater.experiment.collection import Collection
    from flatwater.results import results_in
    from flatwater.runner.several import read_experiments

    return Collection(read_experiments(out), results_in(out).left_out)
