"""The changed experiment, run: the cell before, and the cell after."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from flatwater.advise.advice import Advice
from flatwater.advise.changed import changed_experiment
from flatwater.analysis.bound import experiment_of
from flatwater.analysis.compare import cell_estimate, ratio_interval
from flatwater.errors import FlatwaterError, Interrupted, UserError
from flatwater.experiment import Experiment, Observed
from flatwater.experiment.programs import require_allowed
from flatwater.results import Cell, CellSummary, open_result
from flatwater.runner.progress import Reporter
from flatwater.runner.sweep import default_folder, run_experiment


@dataclass(frozen=True)
class Verified:
    """What became of an advice when its change was made: the two cells, and the ratio with its 95 % interval."""

    advice: Advice
    before: CellSummary
    after: CellSummary
    #: After / before; None where one of them has no mean.
    ratio: float | None
    low: float | None
    high: float | None
    folder: Path

    @property
    def keeps_promise(self) -> bool | None:
        """Whether the measured ratio lies within the expected interval; None if there is no expectation or no ratio.

        The expected interval allows for the noise of both runs, so the ratio itself must lie within.
        """
        effect = self.advice.effect
        if effect is None or self.ratio is None:
            return None
        return effect.low <= self.ratio <= effect.high


def _experiment_to_verify(cell: Cell, advice: Advice) -> Experiment:
    """The experiment of a cell with the change of an advice.

    Errors: UserError if no experiment can make the change, or if the changed one is not valid.
    """
    experiment = experiment_of(cell.result)
    if experiment is not None and isinstance(experiment.workload, Observed):
        raise UserError(
            "a server that is observed is not changed",
            where=f"--verify {advice.rule}",
            hint="make the change yourself, observe again, and use `flatwater compare`",
        )
    if not advice.change.overrides:
        raise UserError(
            "this change is outside the experiment, so flatwater cannot make it",
            where=f"--verify {advice.rule}",
            hint="make it yourself, run the experiment again, and use `flatwater compare`",
        )
    # One run is compared with one run.
    return changed_experiment(cell, (*advice.change.overrides, "repeat=1"))


def verify(
    cell: Cell, advice: Advice, reporter: Reporter, out: Path | None = None, *, programs: bool = False
) -> Verified:
    """Runs the changed experiment into the folder `out` (None: a new one under `results/`), and compares.

    The result that was advised on stays as it is. `programs`: those that its experiment names may run.

    Errors: UserError for a change that no experiment can make; FlatwaterError if the run failed; Interrupted.
    """
    experiment = _experiment_to_verify(cell, advice)
    if programs:
        experiment = experiment.letting_programs_run()
    require_allowed(experiment)
    out = out or default_folder(experiment)
    outcome = run_experiment(experiment, out, reporter, lambda *_: None)
    if outcome.status == "interrupted":
        raise Interrupted(f"interrupted; what was measured is in {out}")
    after = open_result(out).cells[0]
    if outcome.status == "failed" or after.summary is None or cell.summary is None:
        why = outcome.error or "its cell has no summary"
        raise FlatwaterError(f"the changed experiment failed, what was measured is in {out}: {why}")
    ours, theirs = cell_estimate(cell), cell_estimate(after)
    ratio = low = high = None
    if ours is not None and theirs is not None and ours.mean > 0 and theirs.mean > 0:
        ratio, low, high = ratio_interval(ours, theirs)
    return Verified(advice, cell.summary, after.summary, ratio, low, high, out)
