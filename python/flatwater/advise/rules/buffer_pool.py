"""Pages that are read again and again belong into memory first."""

from __future__ import annotations

from flatwater.advise.advice import Advice, Change, Elsewhere
from flatwater.advise.dialect import Dialect
from flatwater.advise.each_server import each_line
from flatwater.advise.rule import Case, Rule
from flatwater.experiment import print_size

_NAME = "innodb_buffer_pool_size"
#: A pool that is twice as large: a step that shows on any working set, and that the laboratory measured.
_TIMES = 2
#: The server, its connections and the kernel need the rest of the memory.
_MEMORY_SHARE = 0.8


class BufferPool(Rule):
    """Cache misses bound the run: a larger buffer pool."""

    name = "buffer-pool"
    about = "a buffer pool that is smaller than the working set"
    source = "MySQL manual, Configuring InnoDB Buffer Pool Size; tpcc-mysql on a card, 2009: twice the memory gave 3x"
    elsewhere = Elsewhere(
        0.77,
        3.0,
        "a pool about twice as large, sysbench OLTP on flash cards: 13 to 25, 25 to 50, 50 to 100 and 120 to 250 GB",
        "Is there benefit from more memory (2010); Micron P320h by file system (2012)",
    )

    def advise(self, case: Case) -> Advice | None:
        """Pools twice as large, as far as the machine has memory for all of them; else more memory."""
        found, database = case.finding("cache misses", "free pages"), case.evidence.database
        if found is None or database is None or (database.servers > 1 and not database.each):
            return None
        servers = Dialect.each(database)
        pools = {name: server.number(_NAME) for name, server in servers.items()}
        after = {name: int(_TIMES * pool) for name, pool in pools.items() if pool}
        if not after or len(after) < len(pools):
            return None
        memory, whole = case.evidence.machine.memory_bytes, sum(after.values())
        # The experiment's setting is the memory of all pools.
        overrides = (f"database.settings.{_NAME}={whole}",)
        if memory is not None and whole > _MEMORY_SHARE * memory and not case.evidence.layers.virtual:
            what = "a pool" if len(after) == 1 else f"{len(after)} pools"
            text = (
                f"Give the machine more memory: {what} of {print_size(whole)} does not fit into {print_size(memory)}."
            )
            change = Change("hardware", text.replace("pools of", "pools with"), (), overrides)
        else:
            lines = tuple(line for line in each_line(servers, {name: {_NAME: size} for name, size in after.items()}))
            change = Change("setting", _text(after), lines, overrides)
        return self.advice(
            "The buffer pool is smaller than the working set: transactions wait for pages that are read."
            if len(after) == 1
            else "The buffer pools are smaller than the working set: transactions wait for pages that are read.",
            change,
            *found.evidence,
            _pools_text({name: pool for name, pool in pools.items() if pool}),
            confidence="high",
            relieves=found,
        )


def _text(after: dict[str, int]) -> str:
    if len(after) == 1:
        return f"Make the buffer pool {print_size(next(iter(after.values())))}."
    if len(set(after.values())) == 1:
        size = print_size(next(iter(after.values())))
        return f"Make the buffer pool of each of the {len(after)} servers {size}."
    return f"Make the buffer pools larger: {', '.join(f'{name} {print_size(size)}' for name, size in after.items())}."


def _pools_text(pools: dict[str, float]) -> str | None:
    """Whose pool is how large, where there are several."""
    if len(pools) == 1:
        return None
    return f"the pools have {', '.join(f'{print_size(int(pool))} ({name})' for name, pool in pools.items())}"
