"""What the emulation of its own device took of a measured run's processors.

Other programs stay as busy after a change. The emulation does not: it works for each request. A larger pool that saves
reads saves the emulator's work too, which on a machine of few cores is as much as the server's own for a page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flatwater.results import Cell


@dataclass(frozen=True)
class EmulatorCost:
    """CPU time of the emulation, microseconds: for a page that the server reads, one that it writes, a statement.

    The requests of the log are those of statements. All are 0 of a run on a device that is not emulated.
    """

    page_read_us: float = 0.0
    page_written_us: float = 0.0
    statement_us: float = 0.0


@dataclass(frozen=True)
class Rates:
    """What a server did each second on average."""

    cpu_cores: float
    pages_read: float
    pages_written: float
    statements: float


def emulator_cost(cells: Sequence[Cell], server: Rates) -> EmulatorCost:
    """What the emulation of the storage takes: flatwater's children without the server, shared out by requests."""
    spent_us = 1e6 * max(0.0, _cores(cells, "machine", "children_cpu_pct") - server.cpu_cores)
    reads, writes = _mean(cells, "storage", "read_ops_per_s"), _mean(cells, "storage", "write_ops_per_s")
    if not spent_us or reads + writes <= 0:
        return EmulatorCost()
    each_us = spent_us / (reads + writes)
    of_log = min(writes, _mean(cells, "database", "log_writes_per_s"))
    return EmulatorCost(
        page_read_us=each_us * reads / server.pages_read if server.pages_read else 0.0,
        page_written_us=each_us * (writes - of_log) / server.pages_written if server.pages_written else 0.0,
        statement_us=each_us * of_log / server.statements if server.statements else 0.0,
    )


def _cores(cells: Sequence[Cell], layer: str, metric: str) -> float:
    return _mean(cells, layer, metric) / 100


def _mean(cells: Sequence[Cell], layer: str, metric: str) -> float:
    """Mean of a series over the measured phases of the cells that recorded it; 0 if none did."""
    recorded = [series for cell in cells if len(series := cell.measured(layer, metric))]
    return sum(float(series.value.mean()) for series in recorded) / len(recorded) if recorded else 0.0
