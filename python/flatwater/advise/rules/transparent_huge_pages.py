"""Huge pages that the kernel makes by itself, while memory is short."""

from __future__ import annotations

from flatwater.advise.advice import Advice, Change
from flatwater.advise.host import machine_facts
from flatwater.advise.rule import Case, Rule

#: A hundredth of the time in which a task waits for memory is much for a machine whose memory is planned.
_PRESSURE_MIN_PCT = 1.0


class TransparentHugePages(Rule):
    """THP is `always`, and tasks wait for memory."""

    name = "transparent-huge-pages"
    about = "transparent huge pages for every process, while memory is short"
    source = (
        "Linux, Documentation/admin-guide/mm/transhuge.rst: khugepaged and memory use; Percona, Settling the Myth of "
        "Transparent HugePages for Databases, 2019: no gain for MySQL"
    )
    elsewhere = "the source found no gain for MySQL; it ends waits for memory"

    def advise(self, case: Case) -> Advice | None:
        """madvise: who wants them asks for them."""
        pressure = case.evidence.machine.pressure_memory_pct
        if machine_facts(case).get("transparent_huge_pages") != "always" or case.evidence.database is None:
            return None
        if pressure is None or pressure.mean < _PRESSURE_MIN_PCT or case.is_served:
            return None
        return self.advice(
            "The kernel makes huge pages for every process, and tasks wait for memory.",
            Change(
                "host",
                "Let only those have huge pages who ask for them.",
                ("echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",),
            ),
            f"tasks waited for memory {pressure.mean:.1f} % of the time",
            confidence="low",
        )
