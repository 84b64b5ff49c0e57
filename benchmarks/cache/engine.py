"""What the cache's engine itself costs: its IOs end at once, its data are nowhere."""

from __future__ import annotations

import statistics
from pathlib import Path

from benchmarks.job import run_child
from benchmarks.options import tell
from benchmarks.pairs import Target
from benchmarks.tables import table
from flatwater.errors import FlatwaterError

#: `cargo build --release -p flatwater-core --example cache_speed` puts it there.
PROGRAM = Path(__file__).parents[2] / "target" / "release" / "examples" / "cache_speed"
#: The issue's figures: a decision, and the memory of a block of 16 KiB.
DECISION_NS = Target("at most", 300)
BLOCK_BYTES = Target("at most", 40)
#: (line of the program, title, decimals, target).
ROWS = (
    ("read_hit_ns", "a read that hits, ns of CPU", 0, DECISION_NS),
    ("write_hit_ns", "a write that hits, ns of CPU", 0, DECISION_NS),
    ("read_miss_ns", "a read that misses, with what it fills and evicts, ns of CPU", 0, DECISION_NS),
    ("write_miss_ns", "a write that misses, with what it evicts, ns of CPU", 0, DECISION_NS),
    ("write_back_ns", "a block's write-back: neighbours, read, write, syncs, records, ns of CPU", 0, None),
    ("write_steady_ns", "a write that misses and the write-back of the block that makes room, ns of CPU", 0, None),
    ("memory_bytes", "memory of a block, all clean, B", 1, BLOCK_BYTES),
    ("memory_dirty_bytes", "memory of a block, all dirty, B", 1, BLOCK_BYTES),
    ("memory_mixed_bytes", "memory of a block, with ghosts for admission, B", 1, BLOCK_BYTES),
)


def missing() -> str | None:
    """Why nothing can be measured, or None."""
    return None if PROGRAM.exists() else f"{PROGRAM.name} is not built"


def measure(rounds: int, folder: Path) -> dict[str, float]:
    """Medians of what the program tells. Errors: FlatwaterError."""
    told: dict[str, list[float]] = {}
    for _ in range(rounds):
        for line in run_child([str(PROGRAM)], folder).output.splitlines():
            name, value = line.split()[:2]
            told.setdefault(name, []).append(float(value))
    if absent := [name for name, *_ in ROWS if name not in told]:
        raise FlatwaterError(f"{PROGRAM.name} did not tell {absent[0]}")
    medians = {name: statistics.median(values) for name, values in told.items()}
    tell(", ".join(f"{name} {value:g}" for name, value in medians.items()))
    return medians


def section(found: dict[str, float]) -> str:
    """The part of the page."""
    rows = []
    for name, title, decimals, target in ROWS:
        verdict = ["", ""] if target is None else [target.text(), "met" if target.holds(found[name]) else "**not met**"]
        rows.append([title, f"{found[name]:,.{decimals}f}", *verdict])
    return f"""\
## The engine
The CPU time of the decisions, without any IO: blocks of 16 KiB, a cache of 4 GiB, 32 requests in flight.

{table(["", "", "target", ""], rows)}
"""
