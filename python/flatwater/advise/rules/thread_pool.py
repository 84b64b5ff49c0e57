"""Far more sessions that run than processors: they take turns, and each turn costs."""

from __future__ import annotations

from flatwater.advise.advice import Advice, Change
from flatwater.advise.dialect import Dialect
from flatwater.advise.rule import Case, Rule
from flatwater.analysis.bound.evidence import Database
from flatwater.analysis.bound.words import figure

_NAME, _POOL, _EACH = "thread_handling", "pool-of-threads", "one-thread-per-connection"
#: A processor that has four sessions to run is never short of one; with more they only wait longer.
_RUNNING_PER_CORE = 4


class ThreadPool(Rule):
    """The processors bound the run, and far more sessions run than there are: a pool."""

    name = "thread-pool"
    about = "many more running sessions than processors"
    source = (
        "MariaDB documentation, Thread Pool in MariaDB: for short queries bound by the CPU; Percona Server, Thread Pool"
    )
    elsewhere = "the sources show charts and no figures"

    def advise(self, case: Case) -> Advice | None:
        """The server's pool of threads, or the application's pool of connections where it has none."""
        found, server, database = case.finding("CPU"), case.server, case.evidence.database
        cores = case.evidence.machine.cores
        if found is None or server is None or database is None or database.threads_running is None or not cores:
            return None
        if database.cpu_user_pct is None:
            # Only a server on this machine is sampled, and the cores are this machine's.
            return None
        running = _on_processors(database, database.threads_running.mean) / database.servers
        if running < _RUNNING_PER_CORE * cores or server.word(_NAME) != _EACH:
            return None
        return self.advice(
            "Many more sessions run than there are processors.",
            _change(server, cores),
            f"{figure(running)} sessions ran, or waited for one of {cores} processors",
            *found.evidence,
            confidence="medium",
            risk="a session may wait for its turn behind long statements of others",
            relieves=found,
        )


def _on_processors(database: Database, running: float) -> float:
    """Sessions that ran or could have. The server calls those running, too, that wait for a lock or for the storage."""
    used = (database.cpu_user_pct, database.cpu_system_pct, database.cpu_wait_pct)
    if database.cpu_wait_pct is None:
        return running  # this kernel does not tell who waits for a processor
    return min(running, sum(one.mean for one in used if one is not None) / 100)


def _change(server: Dialect, cores: int) -> Change:
    pool = server.change("Let a pool of threads run the sessions.", {_NAME: _POOL})
    if pool is not None:
        return pool
    return Change("workload", f"Let the application hold fewer connections: {2 * cores} are a good first value.")
