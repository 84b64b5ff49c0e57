from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flatwater.probe.descendants import Descendants

#: A child that has a busy child of its own.
NESTED = "import subprocess, sys; subprocess.run([sys.executable, '-S', '-c', 'while True: pass'])"


def test_programs_of_programs_are_counted() -> None:
    if not Path(f"/proc/self/task/{os.getpid()}/children").exists():
        pytest.skip("this kernel lists no children")
    probe = Descendants()
    child = subprocess.Popen([sys.executable, "-S", "-c", NESTED], start_new_session=True)
    try:
        until, used = time.monotonic() + 240, 0.0
        while used < 5:
            assert time.monotonic() < until, "the child's child is busy"
            time.sleep(0.2)
            used = probe.sample() or 0.0
    finally:
        os.killpg(child.pid, 9)
        child.wait()
    until = time.monotonic() + 240
    while (probe.sample() or 0.0) > 0:
        assert time.monotonic() < until, "nobody is left"
        time.sleep(0.2)
