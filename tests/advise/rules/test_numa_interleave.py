from __future__ import annotations

import pytest
from cases import GIB, case, database, finding, machine

from flatwater.advise.rules.numa_interleave import NumaInterleave

LARGE = {"innodb_buffer_pool_size": str(48 * GIB)}
TWO = machine(facts={"numa_node_bytes": [32 * GIB, 32 * GIB]})


@pytest.mark.parametrize(
    ("server", "settings", "lines"),
    [
        ("mysql 8.0.36", {"innodb_numa_interleave": "OFF"}, ("innodb_numa_interleave = ON",)),
        ("mysql 5.5.61", {}, ("numactl --interleave=all mysqld",)),
    ],
)
def test_a_pool_that_is_larger_than_a_node(server: str, settings: dict[str, str], lines: tuple[str, ...]) -> None:
    told = NumaInterleave().advise(
        case(finding("CPU"), database=database(server, LARGE | settings, cpu_user_pct=100), machine=TWO)
    )
    assert told is not None
    assert told.change.lines == lines


def test_silent_where_it_fits_is_interleaved_or_there_is_one_node() -> None:
    one = machine(facts={"numa_node_bytes": [64 * GIB, 0]})
    small = {"innodb_buffer_pool_size": str(16 * GIB), "innodb_numa_interleave": "OFF"}
    on = LARGE | {"innodb_numa_interleave": "ON"}
    for settings, where in ((small, TWO), (on, TWO), (LARGE, one)):
        server = database("mysql 8.0.36", settings, cpu_user_pct=100)
        assert NumaInterleave().advise(case(finding("CPU"), database=server, machine=where)) is None
