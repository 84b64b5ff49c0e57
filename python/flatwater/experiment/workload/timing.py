"""The common fields of all workloads: duration, rate, and the handling of errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal, get_args

from pydantic import Field

from flatwater.experiment.layer import Layer
from flatwater.experiment.problem import Problem
from flatwater.experiment.units import Seconds, SomeSeconds

#: Rounds in the window that SNIA's PTS 2.0 judges.
SNIA_WINDOW = 5


class Timing(Layer):
    """The duration and the rate of a workload."""

    LAYER: ClassVar[str] = "workload"
    REALITY: ClassVar[Literal["real", "modelled", "none"]] = "real"

    #: Requests or transactions a second over all threads or connections; 0 = closed loop. Latency then counts from
    #: the intended start.
    rate_per_s: float = Field(default=0.0, ge=0, le=1e9)
    arrival: Literal["fixed", "poisson"] = "fixed"
    duration_s: SomeSeconds = 60.0
    warmup_s: Seconds = 0.0
    #: snia: rounds of round_s until steady (SNIA PTS 2.0) or rounds_max; duration_s is not used then.
    steady_state: Literal["none", "snia"] = "none"
    round_s: SomeSeconds = 60.0
    rounds_max: Annotated[int, Field(ge=1, le=10_000)] = 25
    #: After a failed request or transaction: stop the run, or count the error and continue.
    on_error: Literal["stop", "continue"] = "stop"
    #: The unit of the throughput. Each kind has its own units.
    unit: str

    @classmethod
    def units(cls) -> tuple[str, ...]:
        """The possible units of the throughput, the default first."""
        return get_args(cls.model_fields["unit"].annotation)

    @property
    def longest_s(self) -> float:
        """Maximum seconds of warm-up and measurement, without preparation and preconditioning."""
        measured = self.round_s * self.rounds_max if self.steady_state == "snia" else self.duration_s
        return self.warmup_s + measured

    @property
    def cannot_go_on(self) -> str | None:
        """Why a cell that was stopped in the middle cannot be gone on with, whatever its data are; None if it can."""
        return None

    def conflicts(self) -> Iterator[Problem]:
        """Too few rounds for SNIA's rule; arrivals without a rate."""
        if self.arrival != "fixed" and not self.rate_per_s:
            what = "has no meaning without rate_per_s: each session sends its next request when the last one is done"
            yield problem("arrival", what, "rate_per_s = 100, or take it out", "rate_per_s")
        if self.steady_state == "snia" and self.rounds_max < SNIA_WINDOW:
            what = f"SNIA's steady state is judged over {SNIA_WINDOW} rounds, so {self.rounds_max} are too few"
            yield problem("rounds_max", what, "25 is SNIA's limit", "steady_state")


def problem(field: str, what: str, hint: str | None, *others: str) -> Problem:
    """A problem of a field of the workload that rests on others of its fields."""
    names = tuple(f"workload.{name}" for name in (field, *others))
    return Problem(names[0], what, hint, names)
