"""Estimates the progress of a cell from the calls to its reporter."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping

from flatwater.experiment import Experiment
from flatwater.results.phases import MEASURE, WARMUP
from flatwater.runner.progress import Reporter, SweepProgress

#: Seconds between two reports of the progress.
REPORT_EVERY_S = 0.5


class Following(Reporter):
    """Forwards all calls to another reporter, and reports now and then the progress of the cell (0..1) and its time.

    The time before the warm-up (device state, preconditioning) is not known in advance: the progress is 0 until then.
    """

    def __init__(
        self, reporter: Reporter, cell: Callable[[], Experiment], tell: Callable[[float, float], None]
    ) -> None:
        self._reporter = reporter
        self.draws = reporter.draws
        #: Computed at the first report: most cells of a large sweep finish before it.
        self._cell = functools.cache(cell)
        self._tell = tell
        self._began_s = self._reported_s = time.monotonic()
        self._phase = ""
        self._share = 0.0

    def interval(self, at_s: float, throughput: float, unit: str, p95_us: float | None) -> None:
        now = time.monotonic()
        if now - self._reported_s >= REPORT_EVERY_S:
            self._reported_s = now
            self._share = max(self._share, self._share_at(at_s))
            self._tell(self._share, now - self._began_s)
        self._reporter.interval(at_s, throughput, unit, p95_us)

    def _share_at(self, at_s: float) -> float:
        workload = self._cell().workload
        if self._phase not in (WARMUP, MEASURE) or not workload.longest_s:
            return 0.0
        before_s = workload.warmup_s if self._phase == MEASURE else 0.0
        return min(1.0, (before_s + at_s) / workload.longest_s)

    def phase(self, name: str, length_s: float | None) -> None:
        self._phase = name
        self._reporter.phase(name, length_s)

    def sweep(self, progress: SweepProgress) -> None:
        self._reporter.sweep(progress)

    def cell(self, number: int, total: int, label: str, *, virtual: bool = False) -> None:
        self._reporter.cell(number, total, label, virtual=virtual)

    def written(self, done: int, total: int) -> None:
        self._reporter.written(done, total)

    def loaded(self, done: int, total: int) -> None:
        self._reporter.loaded(done, total)

    def sampled(self, time_s: float, metrics: Mapping[str, float]) -> None:
        self._reporter.sampled(time_s, metrics)

    def note(self, text: str) -> None:
        self._reporter.note(text)

    def close(self) -> None:
        self._reporter.close()
