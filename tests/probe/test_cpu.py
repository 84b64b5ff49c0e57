from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from flatwater.probe.cpu import CpuProbe

SHARES = [f"machine.cpu_{kind}_pct" for kind in ("user", "system", "iowait", "steal", "idle")]
BUSY = "import time\nend = time.monotonic() + 0.5\nwhile time.monotonic() < end: pass"


def test_the_shares_add_up_to_the_machine() -> None:
    probe = CpuProbe()
    time.sleep(0.3)
    told = probe.sample()
    assert sum(told[name] for name in SHARES) == pytest.approx(100, abs=0.5)
    assert all(0 <= told[name] <= 100 for name in SHARES)


def test_what_others_use_is_not_ours() -> None:
    """100 = one core; 10 ms of a tick and whoever else runs here leave some slack."""
    probe = CpuProbe()
    subprocess.run([sys.executable, "-S", "-c", BUSY], check=True)
    assert probe.sample()["machine.others_cpu_pct"] >= 50
    end = time.monotonic() + 0.4
    before = os.times()
    while time.monotonic() < end:
        pass
    ours = os.times()
    told = probe.sample()
    used_pct = 100 * (ours.user - before.user + ours.system - before.system) / 0.4
    busy_pct = (told["machine.cpu_user_pct"] + told["machine.cpu_system_pct"]) * (os.cpu_count() or 1)
    assert told["machine.others_cpu_pct"] == pytest.approx(max(0.0, busy_pct - used_pct), abs=25)


def test_no_time_tells_nothing() -> None:
    probe = CpuProbe()
    for _ in range(3):
        probe.sample()  # within one tick: no division by zero
