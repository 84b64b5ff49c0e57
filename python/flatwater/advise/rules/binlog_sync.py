"""The binary log is synced at each commit, beside the redo log or instead of it."""

from __future__ import annotations

from flatwater.advise.advice import Advice, Elsewhere
from flatwater.advise.rule import Case, Rule
from flatwater.analysis.bound.words import each_second

_NAME, _REDO = "sync_binlog", "innodb_flush_log_at_trx_commit"
#: Groups of commits between two syncs. With 0 the kernel chooses the moment, and writes much at once.
_GROUPS = 1000


class BinlogSync(Rule):
    """Commits wait for syncs, and each syncs the binary log."""

    name = "binlog-sync"
    about = "commits that wait for the binary log to be synced"
    source = (
        "MySQL manual, sync_binlog; Percona, How Binary Logs (and Filesystems) Affect MySQL Performance (2018): "
        "stalls with 0"
    )
    elsewhere = Elsewhere(
        1.09,
        3.59,
        "no sync of the binary log instead of one a commit: XFS in 2009, and MySQL 5.1 on RAID 5 without a safe cache",
        "ext3 against XFS (2009); MySQL optimization, sync_binlog (mysqlopt.blogspot.com, 2012)",
    )

    def advise(self, case: Case) -> Advice | None:
        """Fewer syncs, for those who can lose the last commits; more so where the redo log may lose them anyway."""
        found, server, database = case.finding("fsync path"), case.server, case.evidence.database
        if found is None or server is None or database is None or server.on("log_bin") is not True:
            return None
        redo = server.number(_REDO)
        if server.number(_NAME) != 1 or redo is None:
            return None
        both = redo == 1
        why = (
            "Put the logs on storage whose cache survives a power failure. Where the last commits may be lost, sync "
            if both
            else f"With {_REDO} = {redo:g} a crash of the system loses the last commits all the same. Sync "
        )
        change = server.change(f"{why}the binary log after every {_GROUPS} groups of commits.", {_NAME: _GROUPS})
        if change is None:
            return None
        return self.advice(
            "Commits wait for the binary log to be synced.",
            change,
            each_second(database.binlog_fsyncs_per_s, "syncs of the binary log"),
            *found.evidence,
            confidence="medium" if both else "high",
            risk=f"DURABILITY: a power failure or a crash of the system loses the binary log of up to {_GROUPS} groups "
            "of commits, and replicas may then differ from the server",
            relieves=found,
        )
