"""Real servers and real IO with one thing planted, and the advice that a user reads.

The machine of the tests may be busy with something else: advice against neighbours is left out, unless they were
planted.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from serverlab import ServerLab

from flatwater.advise.adviser import consult
from flatwater.results import open_result

pytestmark = pytest.mark.slow

TPCC = {
    "kind": "tpcc",
    "warehouses": 1,
    "connections": 4,
    "warmup_s": 2,
    "duration_s": 15,
    "check_consistency": False,
}
#: Small transactions that change something: nearly all of their time is a commit's.
WRITES = {"kind": "oltp", "mode": "write_only", "rows": 50_000, "connections": 8, "warmup_s": 2, "duration_s": 12}
SETTINGS: dict[str, Any] = {
    "innodb_buffer_pool_size": "256M",
    "innodb_log_file_size": "256M",
    "innodb_flush_log_at_trx_commit": 1,
    "innodb_flush_method": "O_DIRECT",
}


def advised(
    servers: ServerLab, workload: dict[str, Any] = TPCC, *, without: str = "noisy-neighbour", **rest: Any
) -> list[str]:
    """Runs it, and the rules that speak, the most important first."""
    file = servers.write(workload, settings=SETTINGS | rest.pop("settings", {}), interval_s=1.0, **rest)
    ran = servers.run(file)
    assert ran.cell["status"] == "complete", ran.cell["error"]
    told = consult(open_result(file.with_suffix("")))
    return [one.rule for one in told.advice if one.rule != without]


def test_rows_that_everybody_updates(servers: ServerLab) -> None:
    told = advised(servers, TPCC | {"connections": 48}, settings={"innodb_flush_log_at_trx_commit": 2})
    assert "row-locks" in told[:2]


@pytest.fixture
def burners() -> Iterator[None]:
    """Programs that use every processor."""
    with ExitStack() as running:
        for _ in range(8):
            one = subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"])
            running.callback(one.wait)
            running.callback(one.kill)
        yield


@pytest.mark.usefixtures("burners")
def test_programs_beside_the_server(servers: ServerLab) -> None:
    assert "noisy-neighbour" in advised(servers, without="")[:2]


def test_data_in_the_journal(servers: ServerLab, device: Callable[..., Path], mount: Callable[..., Path]) -> None:
    place = mount(device(2048, "ext4"), "-o", "data=journal")
    assert "data-journal" in advised(servers, WRITES, storage=place)[:2]


def test_a_mount_without_barriers_is_a_danger(
    servers: ServerLab, device: Callable[..., Path], mount: Callable[..., Path]
) -> None:
    place = mount(device(2048, "ext4"), "-o", "barrier=0")
    assert "write-barriers" in advised(servers, storage=place)


def test_a_scheduler_for_desktops(servers: ServerLab, device: Callable[..., Path], mount: Callable[..., Path]) -> None:
    disk = device(2048, "ext4")
    queue = Path("/sys/block", disk.name, "queue/scheduler")
    if "bfq" not in queue.read_text():
        pytest.skip("this kernel has no bfq for loop devices")
    queue.write_text("bfq")
    assert "io-scheduler" in advised(servers, WRITES, storage=mount(disk))[:2]
