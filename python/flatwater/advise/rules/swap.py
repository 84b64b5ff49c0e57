"""A machine that swaps while it is measured."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from flatwater.advise.advice import Advice, Change
from flatwater.advise.host import machine_facts
from flatwater.advise.rule import Case, Rule
from flatwater.analysis.bound.finding import LISTED_MIN
from flatwater.analysis.bound.words import size


class Swap(Rule):
    """Memory is read back from swap during the run."""

    name = "swap"
    about = "memory that is read back from swap during the run"
    source = "proc(5), /proc/vmstat, pswpin; MySQL manual, How MySQL Uses Memory: leave room beside the buffer pool"
    elsewhere = "it depends on how much of what is in use was swapped out"

    def advise(self, case: Case) -> Advice | None:
        """A smaller pool, or more memory."""
        line = case.evidence.machine.swap_read_bytes_per_s
        if line is None or not machine_facts(case) or case.is_served:
            return None
        share = line.share(np.nan_to_num(line.value) > 0)
        if share < LISTED_MIN:
            return None
        pool = case.server.number("innodb_buffer_pool_size") if case.server is not None else None
        total = case.evidence.machine.memory_bytes
        advice = self.advice(
            "The machine swaps while it is measured: its memory is overcommitted.",
            Change(
                "host",
                "Make the buffer pool smaller, or give the machine more memory; let vm.swappiness be 1.",
                ("sysctl -w vm.swappiness=1",),
            ),
            f"{size(line.mean)} a second were read from swap, in {100 * share:.0f} % of the seconds",
            f"the buffer pool has {size(pool)} of the machine's {size(total)}" if pool and total else None,
            confidence="high",
        )
        return replace(advice, share=share)
