"""The processors that the server shares with the load generator and the emulator, for the model beside it.

Both run on the same machine, and a session of the server waits for a processor that they use. So the model's processors
do their work, too: the load generator's at each statement, the emulator's at each request. How much that is was
measured of the unchanged server, as `flatwater what-if` measures it, and so was how much longer the server's own work
takes.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.effects.cells import Outcome
from benchmarks.effects.judge import mean_of
from flatwater.experiment.database.measured import default_workload
from flatwater.results import Result
from flatwater.what_if import read_base


@dataclass(frozen=True)
class Shared:
    """What the model's processors do; times in microseconds."""

    #: The measured work of the generation is multiplied by this.
    times: float
    #: Of the load generator, at each statement.
    statement_us: float
    #: Of the emulator, at each read and write of the device.
    request_us: float

    def table(self, generation: str) -> dict[str, float]:
        """`database.cpu` of the model."""
        measured = default_workload("tpcc", generation).cpu_us
        return {
            "statement_us": measured.statement.value * self.times + self.statement_us,
            "read_us": measured.page_read.value * self.times,
            "write_us": measured.page_written.value * self.times,
            "request_us": self.request_us,
        }

    def facts(self) -> list[tuple[str, str]]:
        """For the page."""
        return [
            ("the model's processor times multiplied by", f"{self.times:.2f}"),
            ("the load generator's part of the processors", f"{self.statement_us:.0f} us of each statement"),
            ("the emulator's part", f"{self.request_us:.0f} us of each read and write of the device"),
        ]


def shared(results: Sequence[Result], times: float) -> Shared:
    """What the processors of the unchanged server did besides in these results; `times` as in `Shared`."""
    bases = [read_base(str(result.path)) for result in results]
    return Shared(
        times,
        statistics.fmean(base.client_statement_us for base in bases),
        statistics.fmean(base.emulator.request_us for base in bases),
    )


def cpu_times(real: Sequence[Outcome | None], model: Sequence[Outcome | None]) -> float:
    """By how much a transaction of the unchanged server takes more processor time than its model's: processors differ,
    and their caches are shared. 1 if either does not tell.
    """
    measured, modelled = (mean_of(one.cpu_us for one in rounds if one is not None) for rounds in (real, model))
    return measured / modelled if measured and modelled else 1.0
