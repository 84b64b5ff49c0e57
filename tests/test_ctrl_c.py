"""Ctrl-C, SIGTERM or SIGHUP at any moment of a short command is one line: while modules are imported, while models are
built, at its end.

The moment is the n-th call of a Python function, so that each can be met again; n is drawn, and a failure names it.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys

import pytest

#: Runs the program and sends it a signal in its n-th call, as often as said; n = 0: not at all, and it writes how many
#: calls there were.
PROGRAM = """
import os, signal, sys
at, number, times, calls, pid = *map(int, sys.argv[1:4]), 0, os.getpid()
del sys.argv[1:4]
signal.signal(signal.SIGINT, signal.default_int_handler)
for one in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(one, signal.SIG_DFL)
def count(frame, event, argument):
    global calls
    if event == "call":
        calls += 1
        if calls == at:
            sys.setprofile(None)
            for _ in range(times):
                os.kill(pid, number)
from flatwater.__main__ import main
sys.setprofile(count)
try:
    main()
finally:
    sys.setprofile(None)
    if not at:
        print(calls)
"""
VERBS = {
    "check": ["check", "demo", "--set", "storage.path=/tmp"],
    "list": ["list"],
    "snapshots": ["snapshots", "list", "/"],
}
#: The first call that is neither `main` nor the making of its handler.
FIRST = 3


def _start(verb: str, at: int, number: int = signal.SIGINT, times: int = 1) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PROGRAM, str(at), str(int(number)), str(times), *VERBS[verb]]
    return subprocess.run(command, capture_output=True, text=True, timeout=240)


@pytest.mark.parametrize("moments_count", [2, pytest.param(24, marks=pytest.mark.slow)])
@pytest.mark.parametrize("verb", VERBS)
def test_ctrl_c_at_any_moment_is_one_line(verb: str, moments_count: int) -> None:
    calls = int(_start(verb, 0).stdout.split()[-1])
    assert calls > 10_000, "the program did little"
    seed = random.randrange(2**32)
    moments = random.Random(seed)
    assert (_start(verb, FIRST).returncode, _start(verb, FIRST).stderr) == (130, "error: interrupted\n")
    for at in [100, *(moments.randrange(FIRST, calls) for _ in range(moments_count))]:
        number, times = moments.choice((signal.SIGINT, signal.SIGTERM, signal.SIGHUP)), moments.choice((1, 2))
        ran = _start(verb, at, number, times)
        told = f"call {at} of {calls}, {times} times {number!r} (seed {seed}): {ran.returncode} {ran.stderr[-2000:]}"
        assert ran.returncode == 130, told
        assert ran.stderr == "error: interrupted\n", told


FINALISER = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
class Ends:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        sum(range(1000))
import flatwater.__main__, flatwater.cli
class Waits:
    def __call__(self):
        Ends()
        while True:
            pass
flatwater.cli.main = Waits()
flatwater.__main__.main()
"""


def test_ctrl_c_is_not_lost_in_a_finaliser() -> None:
    ran = subprocess.run([sys.executable, "-c", FINALISER], capture_output=True, text=True, timeout=240)
    assert (ran.returncode, ran.stderr) == (130, "error: interrupted\n")
