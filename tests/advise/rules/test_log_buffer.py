from __future__ import annotations

from typing import Any

import pytest
from cases import case, database, device, finding

from flatwater.advise.rule import Case
from flatwater.advise.rules.log_buffer import LogBuffer


def run(server: str = "mysql 8.0.36", size: int = 16 << 20, waits: Any = 20) -> Case:
    settings = {"innodb_log_buffer_size": str(size)}
    return case(finding("CPU"), database=database(server, settings, log_buffer_waits_per_s=waits))


@pytest.mark.parametrize("server", ["mysql 5.5.62", "mysql 8.0.36", "mariadb 10.11.6"])
def test_a_larger_buffer(server: str) -> None:
    told = LogBuffer().advise(run(server))
    assert told is not None
    assert told.change.lines == ("innodb_log_buffer_size = 64M",)
    assert told.evidence == ("20 waits for room a second", "the log buffer has 16 MiB")


def test_silent_where_nobody_waits_or_it_is_large() -> None:
    assert LogBuffer().advise(run(waits=0.1)) is None
    assert LogBuffer().advise(run(waits=None)) is None
    assert LogBuffer().advise(run(size=64 << 20)) is None
    assert LogBuffer().advise(case(database=database(log_buffer_waits_per_s=20))) is None


def test_its_share_is_the_time_that_the_waits_take() -> None:
    settings = {"innodb_log_buffer_size": str(16 << 20)}
    told = LogBuffer().advise(
        case(
            finding("CPU"),
            database=database("mysql 8.0.36", settings, log_buffer_waits_per_s=900),
            device=device(write_await_us=5000, busy_pct=50),
        )
    )
    assert told is not None
    assert told.share == 900 * 0.005 / 16, "16 sessions, of which 4.5 wait on average"
