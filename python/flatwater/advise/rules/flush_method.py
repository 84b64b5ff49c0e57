"""Pages are kept twice: in the buffer pool, and in the kernel's cache."""

from __future__ import annotations

from flatwater.advise.advice import Advice
from flatwater.advise.dialect import Dialect
from flatwater.advise.host import machine_facts, storage_facts
from flatwater.advise.rule import Case, Rule
from flatwater.experiment import print_size

_METHOD, _BUFFERING = "innodb_flush_method", "innodb_data_file_buffering"
#: Empty is the default up to MySQL 5.7.
_BUFFERED = {"", "fsync", "fdatasync"}
#: File systems of Linux on which O_DIRECT passes the kernel's cache by.
_DIRECT = {"ext3", "ext4", "xfs"}
#: With less memory in the pool, the kernel's cache may be the larger one: then the pool comes first.
_POOL_SHARE = 0.5


class FlushMethod(Rule):
    """Data files go through the kernel's cache, and the pool has most of the memory: past the cache."""

    name = "flush-method"
    about = "pages that are in the buffer pool and in the kernel's cache"
    source = (
        "MySQL manual, innodb_flush_method: O_DIRECT avoids double buffering; the default of MySQL 8.4 and MariaDB 10.6"
    )
    elsewhere = "it depends on what the kernel's cache answered, and on what the pool gets instead"

    def advise(self, case: Case) -> Advice | None:
        """O_DIRECT, where reads or writes of pages bound the run and the file system can do it."""
        found = case.finding("cache misses", "free pages", "device throughput", "device latency")
        server, memory = case.server, machine_facts(case).get("memory_bytes")
        if found is None or server is None or case.evidence.layers.database != "real":
            return None
        pool = server.number("innodb_buffer_pool_size")
        if not _is_buffered(server) or storage_facts(case).get("file_system") not in _DIRECT:
            return None
        if pool is None or memory is None or pool < _POOL_SHARE * memory:
            return None
        setting = _BUFFERING if server.has(_BUFFERING) else _METHOD
        change = server.change(
            "Let the data files pass by the kernel's cache.",
            {_BUFFERING: False} if setting == _BUFFERING else {_METHOD: "O_DIRECT"},
        )
        if change is None:
            return None
        return self.advice(
            "Pages are kept twice, in the buffer pool and in the kernel's cache.",
            change,
            f"{setting} = {server.word(setting) or 'its default'}",
            f"the pool has {print_size(pool)} of the machine's {print_size(memory)}",
            *found.evidence,
            confidence="medium",
            risk="reads that the kernel's cache answered reach the device: give the pool the memory that becomes free",
            relieves=found,
        )


def _is_buffered(server: Dialect) -> bool:
    """Whether the server is known to read and write its data files through the kernel's cache."""
    if server.has(_BUFFERING):
        return server.on(_BUFFERING) is True
    return _METHOD in server.variables.text and server.word(_METHOD) in _BUFFERED
