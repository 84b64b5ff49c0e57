"""The schedule of a cell's phases: for a fixed time, or until it is steady by SNIA's rule."""

from __future__ import annotations

from typing import Protocol

from flatwater.analysis.steady import WINDOW, SteadyState
from flatwater.experiment import Experiment
from flatwater.results.phases import MEASURE, WARMUP


class Schedule(Protocol):
    """Decides the phase of each interval of the measured workload, and when the workload ends."""

    #: Notes for the events of the result. The caller clears them.
    notes: list[str]

    def phase(self, start_s: float) -> tuple[str, float | None]:
        """The phase of an interval that starts `start_s` after the workload, and the phase's length if known."""
        ...

    def over(self, start_s: float, end_s: float, throughput: float) -> bool:
        """Whether the workload may end after this interval."""
        ...


class Timed(Schedule):
    """A warm-up, then a fixed time (less the time that a killed run has measured)."""

    def __init__(self, cell: Experiment, measured_s: float = 0.0) -> None:
        self.notes: list[str] = []
        self._warmup_s = cell.workload.warmup_s
        self._duration_s = cell.workload.duration_s - measured_s
        #: As long as that, or to the end of what is replayed.
        self._length_s = cell.workload.longest_s - self._warmup_s - measured_s
        # Intervals end a few microseconds late, so lengths are compared to within half an interval.
        self._slack_s = cell.record.interval_s / 2

    def phase(self, start_s: float) -> tuple[str, float | None]:
        if start_s < self._warmup_s - self._slack_s:
            return WARMUP, self._warmup_s
        return MEASURE, self._length_s if self._length_s > 0 else None

    def over(self, start_s: float, end_s: float, throughput: float) -> bool:
        return end_s - self._warmup_s >= self._duration_s - self._slack_s


class UntilSteady(Schedule):
    """SNIA PTS 2.0: rounds without gaps, until the last five are steady or the maximum is reached."""

    def __init__(self, cell: Experiment) -> None:
        self.notes: list[str] = []
        self._warmup_s = cell.workload.warmup_s
        self._round_s = cell.workload.round_s
        self._rounds_max = cell.workload.rounds_max
        self._unit = cell.workload.unit
        self._slack_s = cell.record.interval_s / 2
        self._steady = SteadyState()
        self._round: list[float] = []
        self.rounds = 0

    def phase(self, start_s: float) -> tuple[str, float | None]:
        if start_s < self._warmup_s - self._slack_s:
            return WARMUP, self._warmup_s
        # The number of rounds is not known before. A note reports each of them.
        return MEASURE, None

    def over(self, start_s: float, end_s: float, throughput: float) -> bool:
        if start_s < self._warmup_s - self._slack_s:
            return False
        self._round.append(throughput)
        if end_s - self._warmup_s < (self.rounds + 1) * self._round_s - self._slack_s:
            return False
        mean = sum(self._round) / len(self._round)
        self._round.clear()
        self.rounds += 1
        self.notes.append(f"round {self.rounds} of at most {self._rounds_max}: {mean:,.1f} {self._unit}")
        judged = self._steady.add(mean)
        if judged is not None and judged.steady:
            self.notes.append(f"steady after {self.rounds} rounds: {judged}")
            return True
        if self.rounds >= self._rounds_max:
            self.notes.append(f"not steady after {self.rounds} rounds: {judged or 'too few rounds to tell'}")
            return True
        return False

    @property
    def window_s(self) -> float:
        """Length of the rounds that count: the last five."""
        return WINDOW * self._round_s
