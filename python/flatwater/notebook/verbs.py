"""Verbs of the command line as functions: run, compare, what-if. Their figures are those of `--json`."""

from __future__ import annotations

import io
import json
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from flatwater.analysis import Comparison
from flatwater.cli.what_if import as_data
from flatwater.errors import UserError
from flatwater.notebook.arguments import checked
from flatwater.notebook.frames import Library, converted
from flatwater.notebook.loaded import LoadedRun, load
from flatwater.stores import readable, shown
from flatwater.what_if import Base, Fitted, Prediction


@checked
def run(
    file: Path | str,
    changes: Mapping[str, object] | None = None,
    *,
    out: Path | str | None = None,
    seed: int | None = None,
    resume: bool = False,
    progress: bool = False,
) -> LoadedRun:
    """Runs an experiment as `flatwater run` does: a file, or a name of the library.

    `changes`: fields to replace, as `--set` does: `{"storage.path": "/mnt/flash", "sweep.workload.threads": [1, 8]}`.
    `out`: the result folder, or `s3://BUCKET/PREFIX`; None for a new folder below `results/`. `resume`: do what an
    earlier run left in `out`.
    `progress`: tell on standard error how it goes.

    Thresholds that fail raise nothing: they are in the summary.

    Errors: UserError for a wrong experiment or folder; FlatwaterError if a cell failed; Interrupted by Ctrl-C, after
    the result is whole.
    """
    from flatwater.cli.precautions import only_like_figures, warn_of_baseline, warn_of_shortfall
    from flatwater.cli.request import RunRequest
    from flatwater.cli.run import raise_unless_complete
    from flatwater.cli.stores import result_place
    from flatwater.experiment import load as load_experiment
    from flatwater.runner.progress import start_reporter
    from flatwater.runner.sweep import default_folder, run_experiment

    overrides = tuple(f"{field}={_written(field, value)}" for field, value in (changes or {}).items())
    request = RunRequest((str(file),), overrides, seed, Path(out) if out is not None else None, resume=resume)
    if resume and out is None:
        raise UserError("which result?", where="resume", hint="give its folder with out=")
    experiment = only_like_figures(load_experiment(request.file, overrides, seed, programs=True), request, request.file)
    warn_of_shortfall(experiment)
    warn_of_baseline(experiment)
    with result_place(request.out, resume=resume) as place:
        folder = place.folder or default_folder(experiment)
        reporter = start_reporter(None if progress else io.StringIO())
        place.note = reporter.note
        try:
            outcome = run_experiment(experiment, folder, reporter, place.after(lambda *_: None), resume=resume)
        finally:
            reporter.close()
        raise_unless_complete(outcome, folder, request)
    return load(folder)


def _written(field: str, value: object) -> str:
    """A value as `--set` takes it. Errors: UserError for one that no field has."""
    if isinstance(value, str | Path):
        return str(value)
    try:
        return json.dumps(value, default=_plain)
    except (TypeError, ValueError, RecursionError):
        hint = "a number, a text, True or False, or a list of those"
        raise UserError(f"no field takes {reprlib.repr(value)}", where=f"changes: {field}", hint=hint) from None


def _plain(value: object) -> object:
    """A path, or what numpy has, as JSON has it. Errors: TypeError for anything else."""
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError


@checked
def compare(*runs: LoadedRun | Path | str, anyway: bool = False) -> Comparison:
    """Compares two or more results cell by cell, as `flatwater compare` does; the first is the baseline.

    `anyway`: also gives ratios of results that answer different questions.

    Errors: UserError for fewer than two, for what is no result, and where no cells match.
    """
    from flatwater.analysis import compare as compare_results
    from flatwater.analysis.compare import nothing_shared
    from flatwater.results import open_result

    if len(runs) < 2:
        raise UserError("a comparison takes two results", where="compare", hint="compare(before, after)")
    paths = [one.path if isinstance(one, LoadedRun) else readable(one) for one in runs]
    opened = [open_result(path) for path in paths]
    comparison = compare_results(opened, anyway=anyway)
    if not comparison.rows:
        raise UserError(nothing_shared(opened), where=", ".join(map(shown, paths)))
    return comparison


@dataclass(frozen=True)
class WhatIf:
    """What a measured server is predicted to do on changed stacks."""

    #: What was measured.
    base: Base
    #: How well the twin does that.
    fitted: Fitted
    #: One for each change, the best first.
    predictions: list[Prediction]
    #: The name of a change -> why it is not predicted.
    not_predicted: dict[str, str]
    anyway: bool = False

    def as_json(self) -> dict[str, object]:
        """What `flatwater what-if --json` prints."""
        return as_data(self.base, self.fitted, self.predictions, self.not_predicted, anyway=self.anyway)

    @checked
    def table(self, *, to: Library = "arrow") -> Any:
        """A row for each predicted change: name, ratio, low, high (null where runs do not compare), throughput,
        throughput_low, throughput_high (in the run's unit), reliable.
        """
        wanted = ("name", "ratio", "low", "high", "throughput", "throughput_low", "throughput_high", "reliable")
        types = [pa.string(), *[pa.float64()] * 6, pa.bool_()]
        rows: Any = self.as_json()["changes"]
        columns = [pa.array([row[name] for row in rows], kind) for name, kind in zip(wanted, types, strict=True)]
        return converted(pa.table(dict(zip(wanted, columns, strict=True))), to)


@checked
def what_if(
    run: LoadedRun | Path | str, *changes: Mapping[str, object] | str, cell: int | None = None, anyway: bool = False
) -> WhatIf:
    """Predicts a measured run on a changed stack, as `flatwater what-if` does; it takes a minute.

    `changes`: each a mapping of fields to values, which are made together, or a text as `--set` takes it; none for the
    usual questions. `cell`: which cell of a sweep. `anyway`: ratios of changes of the workload or the data's size too.

    Errors: UserError for a run that was modelled or imported, and for a change that cannot be made.
    """
    from flatwater.what_if import fit_twin, parse_changes, predict, read_base, split, usual_questions
    from flatwater.what_if.twin import Twin

    asked = [
        one if isinstance(one, str) else ",".join(f"{field}={_written(field, value)}" for field, value in one.items())
        for one in changes
    ]
    base = read_base(str(run.path if isinstance(run, LoadedRun) else readable(run)), cell)
    with Twin(base) as twin:
        found, refused = split(twin, parse_changes(twin, asked) if asked else usual_questions(twin))
        fitted = fit_twin(twin, _unheard)
        predictions = predict(twin, fitted, found, _unheard)
    return WhatIf(base, fitted, sorted(predictions, key=lambda one: -one.ratio), refused, anyway)


def _unheard(_: str) -> None:
    """Nobody reads the progress."""
