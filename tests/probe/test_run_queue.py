from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flatwater.probe.run_queue import RunQueue

BUSY = "while True: pass"


def test_two_busy_programs_on_one_core_wait_for_each_other() -> None:
    if not Path("/proc/self/schedstat").exists():
        pytest.skip("this kernel counts no time on run queues")
    core = str(min(os.sched_getaffinity(0)))
    busy = [subprocess.Popen(["taskset", "-c", core, sys.executable, "-S", "-c", BUSY]) for _ in range(2)]
    try:
        queue = RunQueue([one.pid for one in busy])
        until, waited = time.monotonic() + 240, 0.0
        while waited < 20:
            assert time.monotonic() < until, "they share a core"
            time.sleep(0.2)
            waited = queue.sample([one.pid for one in busy]) or 0.0
        assert waited <= 220, "two threads wait for no more than two threads' time"
    finally:
        for one in busy:
            one.kill()
            one.wait()


def test_a_program_that_is_gone_tells_nothing() -> None:
    gone = subprocess.Popen([sys.executable, "-S", "-c", ""])
    gone.wait()
    assert RunQueue([gone.pid]).sample([gone.pid]) is None
