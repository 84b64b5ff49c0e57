"""What other programs took of the machine while a server was measured on it."""

from __future__ import annotations

from collections.abc import Sequence

from flatwater.results import Cell

#: They are named when they took a larger share of the machine's cores.
OTHERS_SHARE = 0.1


def other_cores(cells: Sequence[Cell], server_cores: float, cores: int) -> float:
    """Cores that other programs used on average, and those that the machine's host gave to other guests (steal)."""

    def mean(metric: str) -> float:
        recorded = [cell.measured("machine", metric) for cell in cells]
        known = [float(series.value.mean()) for series in recorded if len(series)]
        return sum(known) / len(known) / 100 if known else 0.0

    # `others` are all processes of the client's machine except the client. They include a server on this machine and
    # the emulation of a device. A server that flatwater started, and the emulation, are its children.
    own = max(server_cores, mean("children_cpu_pct"))
    return max(0.0, mean("others_cpu_pct") - own) + mean("cpu_steal_pct") * cores
