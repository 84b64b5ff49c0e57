"""Who used the processors: a server that flatwater started and the emulation are its children, all else is not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

import numpy as np
import pytest

from flatwater.fit.workload import other_cores
from flatwater.results import Cell
from flatwater.results.series import Series
from flatwater.what_if.processors import EmulatorCost, emulator_cost


@dataclass
class _Run:
    """The series of a cell, each of one value."""

    values: dict[str, float] = field(default_factory=dict)

    def measured(self, layer: str, metric: str) -> Series:
        known = self.values.get(f"{layer}.{metric}")
        value = np.array([] if known is None else [known, known])
        return Series(np.arange(len(value), dtype=np.float64), value)


def run(**values: float) -> Cell:
    """A cell that recorded these; `machine_x` is the series x of the machine."""
    return cast(Cell, _Run({name.replace("_", ".", 1): value for name, value in values.items()}))


#: What the server used.
SERVER_CORES = 1.0


def test_children_are_not_other_programs() -> None:
    own = run(machine_others_cpu_pct=170.0, machine_children_cpu_pct=160.0, machine_cpu_steal_pct=5.0)
    assert other_cores([own], SERVER_CORES, 2) == pytest.approx(0.1 + 0.05 * 2)
    attached = run(machine_others_cpu_pct=170.0, machine_children_cpu_pct=0.0)
    assert other_cores([attached], SERVER_CORES, 2) == pytest.approx(0.7)
    assert other_cores([run(machine_others_cpu_pct=90.0)], SERVER_CORES, 2) == 0


def test_the_emulation_works_for_each_request() -> None:
    """0.6 cores for 2000 requests and 50 transactions a second."""
    cell = run(machine_children_cpu_pct=160.0, storage_read_ops_per_s=1000, storage_write_ops_per_s=1000)
    assert emulator_cost([cell], SERVER_CORES, 50) == EmulatorCost(pytest.approx(300), pytest.approx(12_000))
    assert emulator_cost([run(machine_children_cpu_pct=160.0)], SERVER_CORES, 50) == EmulatorCost()
    assert emulator_cost([cell], 1.6, 50) == EmulatorCost(), "the server had all of it"
