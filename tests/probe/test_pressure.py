from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flatwater.probe.pressure import PressureProbe

BUSY = "import time\nend = time.monotonic() + 0.6\nwhile time.monotonic() < end: pass"

pytestmark = pytest.mark.skipif(not Path("/proc/pressure").is_dir(), reason="this kernel tells no pressure")


def test_shares_of_the_time() -> None:
    probe = PressureProbe()
    time.sleep(0.2)
    told = probe.sample()
    assert "machine.pressure_cpu_some_pct" in told
    assert all(0 <= value <= 100 for value in told.values())


def test_more_tasks_than_processors_is_pressure() -> None:
    probe = PressureProbe()
    tasks = [subprocess.Popen([sys.executable, "-S", "-c", BUSY]) for _ in range(2 * (os.cpu_count() or 1))]
    for task in tasks:
        task.wait()
    assert probe.sample()["machine.pressure_cpu_some_pct"] > 20
