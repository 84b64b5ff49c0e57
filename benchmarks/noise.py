"""What else used the machine while the benchmarks ran."""

from __future__ import annotations

import resource
import time
from dataclasses import dataclass

import psutil


@dataclass(frozen=True)
class Noise:
    """Averages over the benchmarks: cores that others (kernel threads too) used, and % of the machine stolen."""

    others_cores: float
    steal_pct: float

    def text(self) -> str:
        """A sentence for the page, with the advice that it calls for."""
        said = f"other processes used {self.others_cores:.2f} cores, the hypervisor took {self.steal_pct:.1f} %"
        # A tenth of a core is what an idle desktop or a server's daemons take.
        noisy = self.others_cores > 0.1 or self.steal_pct > 2
        return said + ("; **the machine was noisy: repeat on a quiet one**" if noisy else "")


class NoiseMeter:
    """Measures from its making on."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._busy_s, self._steal_s = _machine_s()
        self._own_s = _own_s()

    def read(self) -> Noise:
        """What there was since."""
        wall_s = time.monotonic() - self._started
        busy_s, steal_s = _machine_s()
        others_s = busy_s - self._busy_s - (_own_s() - self._own_s)
        machine_s = wall_s * (psutil.cpu_count() or 1)
        return Noise(max(0.0, others_s) / wall_s, 100 * (steal_s - self._steal_s) / machine_s)


def _machine_s() -> tuple[float, float]:
    times = psutil.cpu_times()
    # Without interrupts: those are the device answering us.
    return times.user + times.nice + times.system, getattr(times, "steal", 0.0)


def _own_s() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
