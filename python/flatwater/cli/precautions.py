"""What is refused, or warned of, before the first cell runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flatwater.cli.request import RunRequest
    from flatwater.experiment import Experiment

#: Fields that make a modelled device smaller and leave its figures nearly what they are.
_SCALED = {"storage.capacity_scale"}


def require_few_cells(experiments: Sequence[Experiment], request: RunRequest, where: str) -> None:
    """Raises UserError where there are so many cells that it may be a slip of the hand."""
    from flatwater.errors import UserError
    from flatwater.experiment import CELLS_ASKED, count_cells, longest_s, print_duration

    cells = sum(map(count_cells, experiments))
    if cells > CELLS_ASKED and not request.yes:
        virtual = " of virtual time" if all(experiment.in_virtual_time for experiment in experiments) else ""
        raise UserError(
            f"{cells:,} cells, about {print_duration(sum(map(longest_s, experiments)))}{virtual}",
            where=f"{where}: sweep",
            hint="sweep fewer values, or --yes if that is meant",
        )


def warn_of_shortfall(experiment: Experiment, prefix: str = "") -> None:
    """Warns on stderr of cells that end before a verdict is possible."""
    from flatwater.runner.verdicts import find_shortfall

    shortfall = find_shortfall(experiment)
    if shortfall is not None:
        print(f"warning: {prefix}{shortfall.text}", file=sys.stderr, flush=True)


def warn_of_baseline(experiment: Experiment, prefix: str = "") -> None:
    """Warns on stderr of a baseline that cannot be opened: its threshold would fail, after the whole run."""
    from flatwater.analysis.baseline import absent

    baseline = experiment.thresholds.baseline if experiment.thresholds is not None else None
    if baseline is not None and (why := absent(baseline)):
        text = f"warning: {prefix}thresholds.baseline: {why}: without it, ratio_min fails"
        print(text, file=sys.stderr, flush=True)


def only_like_figures(experiment: Experiment, request: RunRequest, file: str | Path, prefix: str = "") -> Experiment:
    """The experiment without its published figures and shapes where `--set` asks another question than they answer.

    They are of the workload, data size and direction of the file as it is written: warns on stderr of what differs.
    """
    from flatwater.analysis.alike import experiment_differences
    from flatwater.errors import UserError
    from flatwater.experiment import load

    if not request.overrides or not (experiment.published or experiment.expected):
        return experiment
    try:
        as_written = load(file, request.scaling)
    except UserError:  # it is no experiment without what was set
        return experiment
    swept = {*experiment.sweep.fields, *as_written.sweep.fields}
    before, after = (one.model_dump(exclude_none=True) for one in (as_written, experiment))
    unlike = [
        one
        for one in experiment_differences(before, after)
        if one.decisive and one.field not in swept and one.field not in _SCALED
    ]
    if not unlike:
        return experiment
    told = ", ".join(one.text for one in unlike)
    said = f"warning: {prefix}what was published is not compared: --set asks another question ({told})"
    print(said, file=sys.stderr, flush=True)
    return experiment.model_copy(update={"published": [], "expected": []})
