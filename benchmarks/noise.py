"""The load of other programs on the machine during the benchmarks."""

from __future__ import annotations

import resource
import time
from dataclasses import dataclass

import psutil


@dataclass(frozen=True)
class Noise:
    """Means over the benchmarks: cores used by others (also by kernel threads), and % of the machine's time stolen."""

    others_cores: float
    steal_pct: float

    def text(self) -> str:
        """A sentence for the page, with advice if there was much load."""
        said = f"other processes used {self.others_cores:.2f} cores, the hypervisor took {self.steal_pct:.1f} %"
        # An idle desktop, or the daemons of a server, use about a tenth of a core.
        noisy = self.others_cores > 0.1 or self.steal_pct > 2
        return said + ("; **the machine was noisy: repeat on a quiet one**" if noisy else "")


class NoiseMeter:
    """Measures from its creation on."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._busy_s, self._steal_s = _machine_s()
        self._own_s = _own_s()

    def read(self) -> Noise:
        """The noise since the creation."""
        wall_s = time.monotonic() - self._started
        busy_s, steal_s = _machine_s()
        others_s = busy_s - self._busy_s - (_own_s() - self._own_s)
        machine_s = wall_s * (psutil.cpu_count() or 1)
        return Noise(max(0.0, others_s) / wall_s, 100 * (steal_s - self._steal_s) / machine_s)


def _machine_s() -> tuple[float, float]:
    times = psutil.cpu_times()
    # Interrupts are not counted: they belong to the measured device.
    return times.user + times.nice + times.system, getattr(times, "steal", 0.0)


def _own_s() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
