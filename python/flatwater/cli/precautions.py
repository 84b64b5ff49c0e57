"""What is refused, or warned of, before the first cell runs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flatwater.cli.request import RunRequest
    from flatwater.experiment import Experiment

#: More cells than this are asked about first.
CELLS_ASKED = 1000


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
