"""Was the machine quiet enough to trust the figures?

The same benchmark command gave 12,600 and 21,300 transactions a minute while a neighbour used the machine, and no tool
reported it. Each warning here names what was seen, the probable cause and the next step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

#: The hypervisor gave our CPU to others for more than this share of the time. A loss of two seconds in a hundred is as
#: large as the differences that people compare.
STEAL_PCT_MAX = 2.0
#: CPU of other processes, 100 = one core. A quarter of a core is an eighth of the smallest machine in use.
OTHERS_CPU_PCT_MAX = 25.0
#: With less idle time than this, the CPU limits the run, not the device.
IDLE_PCT_MIN = 5.0
#: A runnable task waited for a CPU for more than this share of the time (PSI `some`): the kernel's own sign of
#: contention. By itself it proves nothing. A thread that wakes for every completion waits a moment for its CPU each
#: time, and a single such thread on an idle machine (54 % idle, 26 % iowait) showed 17 %. So it counts only if CPUs
#: were scarce (idle and iowait together under this), or if other processes used the CPUs.
PRESSURE_CPU_PCT_MAX = 10.0
PRESSURE_IDLE_PCT_MAX = 30.0
#: Tasks waited for memory: the kernel reclaimed the page cache during the run.
PRESSURE_MEMORY_PCT_MAX = 5.0
#: Tasks waited for IO while the device under test was mostly idle: it was the IO of another device.
IOWAIT_PCT_MAX = 20.0
UTILISATION_PCT_MIN = 50.0
#: The load generator's share of all CPU of the machine. Clients commonly take a quarter to a third of a small machine.
CLIENT_SHARE_MAX = 0.5

#: The series that only an observation has: the load is the server's own, and there is nothing to repeat.
OBSERVED = "workload.observer_cpu_pct"
#: What an observation may cost, percent of one core.
OBSERVER_PCT_MAX = 0.5


def noise_warnings(
    means: Mapping[str, float | None], cores: int | None = None, *, database: bool = False, served: bool = False
) -> list[str]:
    """Warnings from the means of the measured phase, by `layer.metric`; a series that was not recorded gives no
    warning.

    `cores` is the machine's number of CPUs, for the client's share of it; `database`: the next steps are those for a
    database's workload; `served`: the storage is a file that flatwater serves (an emulated device, a cache). How busy
    that is says nothing of the devices below it, which the CPU waits for.
    """

    def mean(name: str, absent: float) -> float:
        value = means.get(name)
        return absent if value is None else value

    if OBSERVED in means:
        return _observed_warnings(mean)
    found: list[str] = []
    steal = mean("machine.cpu_steal_pct", 0)
    if steal > STEAL_PCT_MAX:
        found.append(
            f"CPU steal was {steal:.1f} %: a neighbour on the same host took our CPU. "
            "Repeat at a quiet time, or on a machine of one's own, and compare only runs of the same hour"
        )
    # The server under test is not a neighbour.
    server = mean("database.server_cpu_user_pct", 0) + mean("database.server_cpu_system_pct", 0)
    others = mean("machine.others_cpu_pct", 0) - server
    if others > OTHERS_CPU_PCT_MAX:
        found.append(
            f"other processes used {others / 100:.1f} cores: something else was running. "
            "Find it with top, stop it and repeat"
        )
    idle = mean("machine.cpu_idle_pct", 100) + mean("machine.cpu_iowait_pct", 0)
    if idle < IDLE_PCT_MIN:
        found.append(
            f"the CPU was idle for {idle:.1f} % of the time: the machine was saturated, so this measures its CPU, "
            f"not the storage. Use fewer {'connections' if database else 'threads, engine = io_uring,'} or more cores"
        )
    pressure = mean("machine.pressure_cpu_some_pct", 0)
    if pressure > PRESSURE_CPU_PCT_MAX and (idle < PRESSURE_IDLE_PCT_MAX or others > OTHERS_CPU_PCT_MAX):
        found.append(
            f"tasks waited for a CPU {pressure:.0f} % of the time (PSI): more runnable threads than cores. "
            f"Use fewer {'connections' if database else 'threads'}, or look for a neighbour"
        )
    memory = mean("machine.pressure_memory_some_pct", 0)
    if memory > PRESSURE_MEMORY_PCT_MAX:
        found.append(
            f"tasks waited for memory {memory:.0f} % of the time (PSI): the kernel was reclaiming pages. "
            f"Free memory, or use {'a smaller innodb_buffer_pool_size' if database else 'direct = true'}"
        )
    iowait, utilisation = mean("machine.cpu_iowait_pct", 0), mean("storage.utilisation_pct", 100)
    if iowait > IOWAIT_PCT_MAX and utilisation < UTILISATION_PCT_MIN and not served:
        found.append(
            f"the CPU waited for IO {iowait:.0f} % of the time while the device under test was {utilisation:.0f} % "
            "busy: another device was being waited for. Look with iostat -x"
        )
    if any(name.startswith("workload.host0_") for name in means):
        return found  # the load generator is on hosts of its own: load_hosts.py
    client = mean("workload.client_cpu_user_pct", 0) + mean("workload.client_cpu_system_pct", 0)
    if cores and client > CLIENT_SHARE_MAX * 100 * cores:
        found.append(
            f"the load generator used {client / cores:.0f} % of the machine's CPU: a faster device or server would "
            f"not have shown. {'Run' if database else 'Use engine = io_uring, larger blocks, or run'} the client on "
            "another machine"
        )
    return found


def _observed_warnings(mean: Callable[[str, float], float]) -> list[str]:
    """What a reader of an observation must know: nobody chose its load, or its neighbours."""
    found = []
    steal, others = mean("machine.cpu_steal_pct", 0), mean("machine.others_cpu_pct", 0)
    if steal > STEAL_PCT_MAX:
        found.append(f"CPU steal was {steal:.1f} %: a neighbour on the same host took this machine's CPU")
    others -= mean("database.server_cpu_user_pct", 0) + mean("database.server_cpu_system_pct", 0)
    if others > OTHERS_CPU_PCT_MAX:
        found.append(
            f"other processes of the server's machine used {others / 100:.1f} cores: top tells which, "
            "and clients of the server may be among them"
        )
    cost = mean(OBSERVED, 0) + mean("workload.observer_server_cpu_pct", 0)
    if cost > OBSERVER_PCT_MAX:
        found.append(f"observing took {cost:.2f} % of a core, more than the {OBSERVER_PCT_MAX} % that it should")
    return found
