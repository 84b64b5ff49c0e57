"""Rows of `flatwater cost` for changed stacks, from the predictions of `what-if` for a measured server."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from flatwater.printing import make_console

if TYPE_CHECKING:
    from flatwater.cost.candidate import Candidate
    from flatwater.cost.parts import Parts
    from flatwater.experiment import Experiment
    from flatwater.what_if.twin import Twin


def predicted(run: str, changes: list[str], cell: int | None, measured: Candidate) -> list[Candidate]:
    """A row for each change, with the prediction's interval. Errors: UserError, like `flatwater what-if`."""
    from flatwater.errors import UserError
    from flatwater.what_if import fit_twin, parse_changes, predict, read_base, split
    from flatwater.what_if.twin import Twin

    base = read_base(run, cell)
    with Twin(base) as twin, make_console(stderr=True).status("reading...") as status:
        asked, refused = split(twin, parse_changes(twin, changes))
        for name, why in refused.items():
            raise UserError(f"not predicted: {why}", where=name, hint="run it, and compare the two runs")
        fitted = fit_twin(twin, status.update)
        found = predict(twin, fitted, asked, status.update)
        return [
            replace(
                measured,
                name=f"what if {one.change.name}",
                throughput=one.throughput,
                low=one.throughput_low,
                high=one.throughput_high,
                parts=_changed(measured.parts, one.change.experiment, twin),
                # The bytes that a changed stack writes were not measured.
                wearing={},
                member_years=None,
                cell=None,
                predicted=True,
                notes=(*one.notes, *one.change.not_comparable),
            )
            for one in found
        ]


def _changed(measured: Parts, experiment: Experiment, twin: Twin) -> Parts:
    """The parts of the measured run with those of the change: a device, a cache, another pool."""
    from flatwater.cost.parts import Parts, parts_of

    found = parts_of(experiment)
    same_storage = twin.is_own(experiment)
    kept = [part for part in measured.parts if part.role == "storage"] if same_storage else []
    own = [part for part in found.parts if part.role not in ("storage", "server") or not same_storage]
    own = [part for part in own if part.role != "server"]
    servers = [part for part in measured.parts if part.role == "server"]
    return Parts((*kept, *own, *servers), found.notes)
