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
    """CPU time of the emulation, microseconds: for each read and write that it served, and for a transaction.

    Nobody waits for it as such: a request is answered when the emulated device would answer. Both are 0 of a run on a
    device that is not emulated.
    """

    request_us: float = 0.0
    transaction_us: float = 0.0


def emulator_cost(cells: Sequence[Cell], server_cores: float, transactions_per_s: float) -> EmulatorCost:
    """What the emulation of the storage takes: flatwater's children without the server, shared out by requests."""
    spent_us = 1e6 * max(0.0, _cores(cells, "machine", "children_cpu_pct") - server_cores)
    requests = _mean(cells, "storage", "read_ops_per_s") + _mean(cells, "storage", "write_ops_per_s")
    if not spent_us or requests <= 0:
        return EmulatorCost()
    return EmulatorCost(spent_us / requests, spent_us / transactions_per_s)


def _cores(cells: Sequence[Cell], layer: str, metric: str) -> float:
    return _mean(cells, layer, metric) / 100


def _mean(cells: Sequence[Cell], layer: str, metric: str) -> float:
    """Mean of a series over the measured phases of the cells that recorded it; 0 if none did."""
    recorded = [series for cell in cells if len(series := cell.measured(layer, metric))]
    return sum(float(series.value.mean()) for series in recorded) / len(recorded) if recorded else 0.0
