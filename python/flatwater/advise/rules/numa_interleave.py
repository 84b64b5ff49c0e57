"""A pool that is larger than the memory of one NUMA node."""

from __future__ import annotations

from flatwater.advise.advice import Advice, Change
from flatwater.advise.host import machine_facts
from flatwater.advise.rule import Case, Rule
from flatwater.analysis.bound.words import size

_NAME = "innodb_numa_interleave"


class NumaInterleave(Rule):
    """Several nodes, a pool larger than each of them, and no interleaving."""

    name = "numa-interleave"
    about = "a buffer pool that is larger than a NUMA node, and not interleaved"
    source = (
        "MySQL manual, innodb_numa_interleave; Jeremy Cole, The MySQL swap insanity problem and the effects of the "
        "NUMA architecture, 2010"
    )
    elsewhere = "it ends swapping and slow starts of one node, and has no figure that holds elsewhere"

    def advise(self, case: Case) -> Advice | None:
        """Interleave the pool over all nodes."""
        nodes, server = machine_facts(case).get("numa_node_bytes", []), case.server
        pool = server.number("innodb_buffer_pool_size") if server is not None else None
        # Nodes without memory are processors' only.
        nodes = [one for one in nodes if one > 0]
        if server is None or not pool or len(nodes) < 2 or pool <= max(nodes) or case.is_served:
            return None
        if server.on(_NAME):
            return None
        # Only a server that was compiled with libnuma has the setting.
        lines = (f"{_NAME} = ON",) if server.on(_NAME) is False else ()
        text = "Interleave the buffer pool over all nodes"
        text += "." if lines else ": start the server under numactl --interleave=all."
        return self.advice(
            "The buffer pool is larger than one NUMA node: one node fills up, and swaps or reads from afar.",
            Change("setting" if lines else "host", text, lines or ("numactl --interleave=all mysqld",)),
            f"{len(nodes)} nodes of {size(max(nodes))} at most, and a pool of {size(pool)}",
            confidence="medium",
        )
