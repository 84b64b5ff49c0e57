"""Tests of Ctrl-C hold however the tests were started; and a program under `nohup` still hears nothing."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from lab import MIB, Lab
from signals import TOLD

TESTS = Path(__file__).parent
#: One that Ctrl-C ends, and that fails within `PATIENCE_S` if it does not.
OF_CTRL_C = "runner/test_interrupt.py::test_in_the_warm_up"


def deafen() -> None:
    """As a shell starts what ends with `&`, `nohup`, and a parent that blocks signals."""
    for number in TOLD:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, TOLD)


def test_the_tests_hear_ctrl_c_whoever_started_them() -> None:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(TESTS / OF_CTRL_C)]
    done = subprocess.run(command, preexec_fn=deafen, capture_output=True, text=True, cwd=TESTS.parent)
    assert done.returncode == 0, done.stdout


def ignore(number: signal.Signals) -> Callable[[], object]:
    return lambda: signal.signal(number, signal.SIG_IGN)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP, signal.SIGTERM])
def test_what_a_run_was_born_deaf_to_it_does_not_hear(lab: Lab, number: signal.Signals) -> None:
    file = lab.write({"mode": "rndrd", "duration_s": 1.0}, {"size": 8 * MIB})
    run = lab.start(file, "--json", begin=ignore(number))
    run.until_recorded(3)
    ran = run.send(number)
    assert (ran.code, ran.summary.status) == (0, "complete"), ran.stderr
