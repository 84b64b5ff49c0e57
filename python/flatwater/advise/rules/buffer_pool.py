"""Pages that are read again and again belong into memory first."""

from __future__ import annotations

from flatwater.advise.advice import Advice, Change
from flatwater.advise.rule import Case, Rule
from flatwater.experiment import print_size

#: A pool that is twice as large: a step that shows on any working set, and that the laboratory measured.
_TIMES = 2
#: The server, its connections and the kernel need the rest of the memory.
_MEMORY_SHARE = 0.8


class BufferPool(Rule):
    """Cache misses bound the run: a larger buffer pool."""

    name = "buffer-pool"
    about = "a buffer pool that is smaller than the working set"
    source = "MySQL manual, Configuring InnoDB Buffer Pool Size; tpcc-mysql on a card, 2009: twice the memory gave 3x"

    def advise(self, case: Case) -> Advice | None:
        """A pool twice as large, as far as the machine has memory for it; else more memory."""
        found, server = case.finding("cache misses", "free pages"), case.server
        pool = server.number("innodb_buffer_pool_size") if server is not None else None
        if found is None or server is None or not pool:
            return None
        after = int(_TIMES * pool)
        memory = case.evidence.machine.memory_bytes
        if memory is not None and after > _MEMORY_SHARE * memory and not case.evidence.layers.virtual:
            text = (
                f"Give the machine more memory: a pool of {print_size(after)} does not fit into {print_size(memory)}."
            )
            change = Change("hardware", text, (), (f"database.settings.innodb_buffer_pool_size={after}",))
        else:
            lines = server.lines({"innodb_buffer_pool_size": after})
            text = f"Make the buffer pool {print_size(after)}."
            change = Change("setting", text, lines, (f"database.settings.innodb_buffer_pool_size={after}",))
        return self.advice(
            "The buffer pool is smaller than the working set: transactions wait for pages that are read.",
            change,
            *found.evidence,
            confidence="high",
            relieves=found,
        )
