"""How fast policies are simulated, beside libCacheSim.

libCacheSim (Yang et al.) is used where its `cachesim` is on the PATH. Figures are CPU time of a whole process: reading
the trace is part of it, and so is starting.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.job import run_child
from benchmarks.options import tell
from benchmarks.pairs import Ratio, Target, alternating, ratio
from benchmarks.tables import interval, table
from flatwater.errors import FlatwaterError

#: The issue's figure.
FASTER = Target("at least", 1.5)
#: libCacheSim's Zipf case: exponent 1 over a million objects, room for a tenth of them.
OBJECTS, SLOTS, EXPONENT = 1_000_000, 100_000, 1.0
#: Our names and theirs.
POLICIES = {"lru": "LRU", "fifo": "FIFO", "s3-fifo": "S3FIFO"}

#: A child of ours: one cache, and its reads and misses as JSON.
_OURS = """\
import json, sys
from flatwater._engine import trace_simulate
print(json.dumps(trace_simulate(sys.argv[1], [(sys.argv[2], int(sys.argv[3]))], "oracle")[0]))
"""
_THEIRS = re.compile(r"miss ratio ([0-9.]+)")


@dataclass
class Found:
    """What was measured of one policy; `theirs` and the ratio only beside libCacheSim."""

    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)
    miss_ratio: float = 0.0
    their_miss_ratio: float | None = None

    @property
    def against(self) -> Ratio | None:
        """Ours over theirs."""
        return ratio(self.ours, self.theirs) if self.theirs else None


def write_zipf(path: Path, requests: int, seed: int = 42) -> None:
    """A trace in oracleGeneral: objects by Zipf's law, each of size 1."""
    weights = np.cumsum(np.arange(1, OBJECTS + 1, dtype=np.float64) ** -EXPONENT)
    ranks = np.searchsorted(weights / weights[-1], np.random.default_rng(seed).random(requests))
    trace = np.zeros(requests, [("time", "<u4"), ("object", "<u8"), ("size", "<u4"), ("next", "<i8")])
    trace["time"] = np.arange(requests) // 1000
    # Names without an order, as hashes of keys are.
    trace["object"] = ranks.astype(np.uint64) * 2_654_435_761 % 2**40 + 1
    trace["size"], trace["next"] = 1, -1
    trace.tofile(path)


def missing() -> str | None:
    """Why libCacheSim is not measured."""
    found = shutil.which("cachesim")
    return None if found else "cachesim is not on the PATH (github.com/1a1a11a/libCacheSim)"


def run_ours(trace: Path, policy: str, requests: int) -> tuple[float, float]:
    """Requests a CPU second, and the miss ratio. Errors: FlatwaterError."""
    finished = run_child([sys.executable, "-c", _OURS, str(trace), policy, str(SLOTS)], trace.parent)
    reads, misses, _, _ = json.loads(finished.output.splitlines()[-1])
    if reads != requests:
        raise FlatwaterError(f"{reads} requests were simulated, not {requests}")
    return requests / finished.cpu_s, misses / reads


def run_theirs(trace: Path, policy: str, requests: int) -> tuple[float, float]:
    """The same of libCacheSim. Errors: FlatwaterError."""
    words = ["cachesim", str(trace), "oracleGeneral", POLICIES[policy], str(SLOTS), "--ignore-obj-size=true"]
    finished = run_child(words, trace.parent)
    told = _THEIRS.findall(finished.output)
    if not told or f"{requests} req" not in finished.output:
        raise FlatwaterError(f"cachesim did not tell a miss ratio: {finished.output[-200:]}")
    return requests / finished.cpu_s, float(told[-1])


def compare(trace: Path, requests: int, rounds: int) -> dict[str, Found]:
    """Every policy, in pairs that stand side by side. Errors: FlatwaterError."""
    found = {policy: Found() for policy in POLICIES}
    contestants = ["ours"] if missing() else ["ours", "theirs"]
    for policy, own in found.items():
        for _, contestant in alternating(contestants, rounds):
            if contestant == "ours":
                rate, own.miss_ratio = run_ours(trace, policy, requests)
                own.ours.append(rate)
            else:
                rate, own.their_miss_ratio = run_theirs(trace, policy, requests)
                own.theirs.append(rate)
            tell(f"{policy}, {contestant}: {rate / 1e6:.2f} million requests a CPU second")
    return found


def section(found: dict[str, Found], requests: int) -> str:
    """The part of the page."""
    rows = []
    for policy, own in found.items():
        against = own.against
        equal = own.their_miss_ratio is not None and f"{own.miss_ratio:.4f}" == f"{own.their_miss_ratio:.4f}"
        theirs = (
            [f"{own.their_miss_ratio:.4f}", "yes" if equal else "**no**", f"{_median(own.theirs):.2f}"]
            if own.their_miss_ratio is not None
            else ["", "", ""]
        )
        judged = [interval(against), FASTER.text(), against.verdict(FASTER)] if against else ["", FASTER.text(), ""]
        rows.append([policy, f"{own.miss_ratio:.4f}", *theirs[:2], f"{_median(own.ours):.2f}", theirs[2], *judged])
    head = ["policy", "miss ratio", "libCacheSim's", "equal", "million/CPU s", "libCacheSim's", "ratio", "target", ""]
    skipped = missing()
    note = f"\n\nNot measured beside libCacheSim: {skipped}." if skipped else ""
    return f"""\
## Simulating policies
{requests:,} requests for {OBJECTS:,} objects by Zipf's law (exponent {EXPONENT:g}), and a cache of {SLOTS:,} objects.
The CPU time is that of a whole process, which simulates one cache.

{table(head, rows)}{note}
"""


def _median(values: list[float]) -> float:
    return float(np.median(values)) / 1e6
