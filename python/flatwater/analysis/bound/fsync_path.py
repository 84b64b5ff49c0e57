"""Commits wait until the log is durable: a write, and a flush of the device's cache, one after another."""

from __future__ import annotations

from flatwater.analysis.bound.evidence import Database, Evidence
from flatwater.analysis.bound.finding import Finding, found
from flatwater.analysis.bound.sessions import SessionTime, commits_per_s, log_syncs_per_s, session_time
from flatwater.analysis.bound.words import duration, each_second, figure


def find(evidence: Evidence) -> Finding | None:
    """The share of the sessions' time in which they waited for a sync."""
    time = session_time(evidence)
    if time is None or not time.committing:
        return None
    database = evidence.database
    if database is None:
        took = f", {duration(time.sync_us)} each" if time.sync_us is not None else ""
        return found(
            "fsync path",
            time.of(time.committing),
            "time",
            f"{figure(time.committing)} of {figure(time.sessions)} requests in flight were syncs{took}",
            each_second(evidence.load.fsync_ops_per_s, "syncs"),
        )
    return found(
        "fsync path",
        time.of(time.committing),
        "time",
        _waiting(time),
        _grouped(evidence, database),
        _settings(database),
    )


def _waiting(time: SessionTime) -> str:
    took = f", and a sync took {duration(time.sync_us)}" if time.sync_us is not None else ""
    about = "" if time.seen else "about "
    return f"{about}{figure(time.committing or 0.0)} of {figure(time.sessions)} sessions were in a commit{took}"


def _grouped(evidence: Evidence, database: Database) -> str | None:
    syncs, commits = log_syncs_per_s(database), commits_per_s(evidence)
    if not syncs:
        return None
    return f"{figure(syncs)} syncs of the log a second for {figure(commits)} commits: {figure(commits / syncs)} in each"


def _settings(database: Database) -> str:
    names = ("innodb_flush_log_at_trx_commit", "sync_binlog", "log_bin")
    text = database.variables.text
    return ", ".join(f"{name} = {text[name]}" for name in names if name in text)
