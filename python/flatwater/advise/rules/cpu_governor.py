"""A processor that saves power while sessions wait for it."""

from __future__ import annotations

from flatwater.advise.advice import Advice, Change, Elsewhere
from flatwater.advise.host import machine_facts
from flatwater.advise.rule import Case, Rule

#: `schedutil` follows the load quickly, and `performance` is what is advised; the others wait before they speed up.
_SAVING = ("powersave", "conservative", "ondemand")


class CpuGovernor(Rule):
    """A power-saving governor, while processors or short waits hold the run back."""

    name = "cpu-governor"
    about = "a power-saving frequency governor below a run that is bound by processors or by short waits"
    source = "Linux, Documentation/admin-guide/pm/cpufreq.rst; TuneD, profile throughput-performance: performance"
    elsewhere = Elsewhere(
        1.01,
        1.11,
        "sysbench read-write with client and MySQL 5.4.3 on one host, with the processors at full speed",
        "Mikael Ronström, Effect of CPU Powersave mode on Sysbench benchmarks (2009)",
    )

    def advise(self, case: Case) -> Advice | None:
        """The governor `performance`."""
        governor = machine_facts(case).get("cpu_governor", "")
        found = case.finding("CPU", "client", "fsync path", "device latency", "contention")
        if governor not in _SAVING or found is None:
            return None
        return self.advice(
            f"The processors save power: their governor is {governor}.",
            Change(
                "host",
                "Use the governor performance.",
                ("cpupower frequency-set -g performance", "tuned-adm profile throughput-performance  # keeps it"),
            ),
            *found.evidence,
            confidence="medium",
        )
