"""A write of the log that is smaller than a block of the kernel's cache costs a read of the rest first."""

from __future__ import annotations

from flatwater.advise.advice import Advice, Elsewhere
from flatwater.advise.rule import Case, Rule
from flatwater.analysis.bound.words import each_second

_NAME, _OF_XTRADB = "innodb_log_write_ahead_size", "innodb_log_block_size"
#: A page of the kernel's cache, and a block of the usual file systems.
_BYTES = 4096
#: Fewer reads than one a second delay too few commits to see.
_READS_MIN = 1.0


class LogBlock(Rule):
    """The log is read before it is written: blocks of 4096 bytes."""

    name = "log-block"
    about = "parts of the log that are read before they can be written"
    source = (
        "MySQL manual, innodb_log_write_ahead_size: prevents read-on-write; Percona Server 5.5, innodb_log_block_size: "
        "4096 for SSD cards"
    )
    elsewhere = Elsewhere(
        1.29,
        1.29,
        "blocks of 4096 instead of 512 bytes, tpcc-mysql, Percona Server 5.5 on a FusionIO 320 GB MLC card",
        "innodb_log_block_size on a flash card (2011)",
    )

    def advise(self, case: Case) -> Advice | None:
        """Whole pages of the kernel's cache, where reads of the log were seen."""
        server, database = case.server, case.evidence.database
        if case.is_served or server is None or database is None or database.log_page_reads_per_s is None:
            return None
        name = _OF_XTRADB if server.has(_OF_XTRADB) else _NAME
        block = server.number(name)
        if block is None or block >= _BYTES or database.log_page_reads_per_s.mean < _READS_MIN:
            return None
        change = server.change("Write the log in whole pages of the kernel's cache.", {_NAME: _BYTES})
        if change is None:
            return None
        return self.advice(
            "Parts of the log are read before they can be written.",
            change,
            each_second(database.log_page_reads_per_s, "pages of the log read"),
            f"{name} = {block:g}",
            confidence="high",
            risk="XtraDB: the log's files are made anew. Stop the server cleanly, and move them away before it starts"
            if name == _OF_XTRADB
            else "",
            relieves=case.finding("fsync path", "device latency", "device throughput"),
        )
