"""Real servers with one thing planted, and the diagnosis that a user reads.

The machine of the tests may be busy with something else: then a neighbour is a finding, and a right one. It is left out
here, unless it is what was planted.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from serverlab import ServerLab

pytestmark = pytest.mark.slow

WORKLOAD = {
    "kind": "tpcc",
    "warehouses": 1,
    "connections": 4,
    "warmup_s": 2,
    "duration_s": 15,
    "check_consistency": False,
}
SETTINGS: dict[str, Any] = {
    "innodb_buffer_pool_size": "256M",
    "innodb_log_file_size": "512M",
    "innodb_flush_log_at_trx_commit": 2,
    "innodb_flush_method": "O_DIRECT",
}
PLANTED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "small log": ({}, {"innodb_log_file_size": "8M"}, "log limit"),
    "dirty limit": ({}, {"innodb_max_dirty_pages_pct": 1}, "dirty limit"),
    "one warehouse for all": ({"connections": 48}, {}, "contention"),
    "a pool that is too small": ({}, {"innodb_buffer_pool_size": "12M"}, "cache misses"),
}


def names_of(cell: dict[str, Any], *, without: str = "") -> list[str]:
    bound = cell["bound"]
    return [name for name in (bound["name"], *(one["name"] for one in bound["others"])) if name != without]


@pytest.mark.parametrize(("workload", "settings", "name"), PLANTED.values(), ids=PLANTED.keys())
def test_what_was_planted_in_a_server_is_named(
    servers: ServerLab, workload: dict[str, Any], settings: dict[str, Any], name: str
) -> None:
    ran = servers.go({**WORKLOAD, **workload}, settings=SETTINGS | settings, interval_s=1.0)
    assert name in names_of(ran.cell, without="neighbour")[:2], ran.cell["bound"]


def test_a_pace_that_is_kept_is_bound_by_nothing(servers: ServerLab) -> None:
    bound = servers.go({**WORKLOAD, "rate_per_s": 5}, settings=SETTINGS, interval_s=1.0).cell["bound"]
    assert (bound["name"], bound["others"]) == ("nothing", [])


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
def test_a_neighbour_is_named(servers: ServerLab) -> None:
    cell = servers.go(WORKLOAD, settings=SETTINGS, interval_s=1.0).cell
    assert "neighbour" in names_of(cell)[:2], cell["bound"]
    assert any("cores" in line for line in cell["bound"]["evidence"] + cell["bound"]["others"][0]["evidence"])
