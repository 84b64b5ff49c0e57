"""What a bound finds, and how large a share makes it worth telling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: The names of the bounds, as the report, `run` and `--json` print them.
Name = Literal[
    "client",
    "CPU",
    "contention",
    "device throughput",
    "device latency",
    "garbage collection",
    "fsync path",
    "log limit",
    "free pages",
    "dirty limit",
    "cache misses",
    "cache destaging",
    "neighbour",
    "rate asked",
]
#: What a share is of: `time` is the time of all sessions together, `seconds` are the measured intervals.
Of = Literal["time", "seconds"]

#: A bound that takes a share s of the time can give at most 1 / (1 - s) when it is removed (Amdahl's law). Under a
#: tenth that is 11 %, about what SNIA's rule still calls steady (10 %), so a smaller finding is not told.
LISTED_MIN = 0.10
#: Under a quarter it is a third at most: then no single bound holds the run back, and the diagnosis is "not told".
MAIN_MIN = 0.25


@dataclass(frozen=True)
class Finding:
    """One bound that was at work."""

    name: Name
    #: 0 to 1: the share of the time that it explains, or of the seconds in which it bound.
    share: float
    of: Of
    #: Sentences with figures of this run, the most telling first.
    evidence: tuple[str, ...]


def found(name: Name, share: float, of: Of, *evidence: str | None) -> Finding | None:
    """The finding, or None where the share is too small to tell. Evidence that is None was not recorded."""
    if not share >= LISTED_MIN:
        return None
    return Finding(name, min(share, 1.0), of, tuple(line for line in evidence if line is not None))
