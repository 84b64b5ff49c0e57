from __future__ import annotations

import pytest
from cases import case, finding, on_storage

from flatwater.advise.rules.alignment import Alignment

WAITS = finding("device throughput", 0.5, "the device was busy for 99 % of the time")


def test_a_partition_that_begins_at_sector_63() -> None:
    told = Alignment().advise(case(WAITS, machine=on_storage(partition_start_bytes=63 * 512)))
    assert told is not None
    assert "sector 63" in told.evidence[0]
    assert "deletes" in told.risk


@pytest.mark.parametrize(
    "storage",
    [
        {"partition_start_bytes": 1 << 20},
        {},
        {"partition_start_bytes": 512, "physical_block_bytes": 512, "rotational": True},
    ],
    ids=["1 MiB", "no partition", "a disk with sectors of 512 bytes"],
)
def test_silent_where_it_is_aligned(storage: dict[str, int]) -> None:
    assert Alignment().advise(case(WAITS, machine=on_storage(**storage))) is None


def test_silent_where_nobody_waits() -> None:
    assert Alignment().advise(case(finding("CPU"), machine=on_storage(partition_start_bytes=63 * 512))) is None
