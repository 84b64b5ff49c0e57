"""The share of one host in a load that several hosts make together."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Part:
    """Sessions or threads with numbers of their own among those of all hosts: `Part` of crates/real.

    Each does what it would do if one host had all: it has the same random numbers, the same arrivals and the same
    server. Such a run waits for `Run.begin_at`.
    """

    first: int
    #: The number of all hosts together.
    of: int
