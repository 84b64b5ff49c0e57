"""A promised gain of an advice, and what a rerun with the change measured."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Promise:
    """A promised gain (ratio of throughputs, `low` to `high`), and the ratio that a rerun measured."""

    what: str
    rule: str
    low: float
    high: float
    measured: float

    @property
    def holds(self) -> bool:
        """Whether the measured ratio lies within the promised interval."""
        return self.low <= self.measured <= self.high

    def __str__(self) -> str:
        held = "holds" if self.holds else "FAILS"
        return f"{self.what:70} {self.low:6.3f} to {self.high:6.3f} {self.measured:6.3f} {held}"
