"""Who used the processors: a server that flatwater started and the emulation are its children, all else is not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

import numpy as np
import pytest

from flatwater.fit.workload import other_cores
from flatwater.results import Cell
from flatwater.results.series import Series
from flatwater.what_if.processors import EmulatorCost, Rates, emulator_cost


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


#: One core of a server that reads 1000 pages a second and writes 500.
RATES = Rates(cpu_cores=1.0, pages_read=1000, pages_written=500, statements=2000)


def test_children_are_not_other_programs() -> None:
    own = run(machine_others_cpu_pct=170.0, machine_children_cpu_pct=160.0, machine_cpu_steal_pct=5.0)
    assert other_cores([own], RATES.cpu_cores, 2) == pytest.approx(0.1 + 0.05 * 2)
    attached = run(machine_others_cpu_pct=170.0, machine_children_cpu_pct=0.0)
    assert other_cores([attached], RATES.cpu_cores, 2) == pytest.approx(0.7)
    assert other_cores([run(machine_others_cpu_pct=90.0)], RATES.cpu_cores, 2) == 0


def test_the_emulation_works_for_each_request() -> None:
    """0.6 cores for 2000 requests a second are 300 us each: 1000 reads, 900 writes of pages, 100 of the log."""
    cell = run(
        machine_children_cpu_pct=160.0,
        storage_read_ops_per_s=1000,
        storage_write_ops_per_s=1000,
        database_log_writes_per_s=100,
    )
    found = emulator_cost([cell], RATES)
    assert (found.page_read_us, found.page_written_us, found.statement_us) == pytest.approx((300, 540, 15))
    assert emulator_cost([run(machine_children_cpu_pct=160.0)], RATES) == EmulatorCost()
    only_reads = Rates(1.0, 1000, 0, 2000)
    assert emulator_cost([cell], only_reads).page_written_us == 0
