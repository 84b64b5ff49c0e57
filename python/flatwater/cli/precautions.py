"""What is refused, or warned of, before the first cell runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flatwater.cli.request import RunRequest
    from flatwater.experiment import Experiment

#: More cells than this are asked about first.
CELLS_ASKED = 1000

#: Fields that make a modelled device smaller and leave its figures nearly what they are.
_SCALED = {"storage.capacity_scale"}


def require_few_cells(experiments: Sequence[Experiment], request: RunRequest, where: str) -> None:
    """Raises UserError where there are so many cells that it may be a slip of the hand."""
    from flatwater.errors import UserError
    from flatwater.experiment import count_cells, longest_s, print_duration

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


def written_text(experiment: Experiment) -> str | None:
    """What a run of fileio makes in a file system, how large it is, and whether it stays; None of other runs."""
    from flatwater.experiment import print_size
    from flatwater.experiment.storage import FileStorage

    storage, swept = experiment.storage, experiment.sweep.fields
    if not isinstance(storage, FileStorage) or storage.path is None or experiment.workload.kind != "fileio":
        return None
    if storage.size is None or any(field in swept for field in ("storage.path", "storage.size", "workload.files")):
        return None
    place = Path(storage.path)
    if place.is_block_device() or place.is_file():
        return None
    files = experiment.fileio.files
    what = "a file" if files == 1 else f"{files:,} files that have together"
    size = f"{'of ' if files == 1 else ''}{print_size(storage.size)}"
    return f"needs and writes {what} {size} in {storage.path}; {_fate_text(experiment)}"


def _fate_text(experiment: Experiment) -> str:
    """Whether what is written is still there when the run is over."""
    field = "storage.keep"
    last = experiment.sweep.values_at(experiment.sweep.positions - 1).get(field, experiment.files.keep)
    if field in experiment.sweep.fields and experiment.repeat > 1:
        return "some cells delete that, and the cells of each repeat run in another order"
    return "that stays for the next run" if last else "the last cell deletes that"


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
