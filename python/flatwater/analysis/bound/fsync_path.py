"""Commits wait until the log is durable: a write, and a flush of the device's cache, one after another.

Sessions that wait for room in the log buffer wait for such a write, too.
"""

from __future__ import annotations

from collections.abc import Iterator

from flatwater.analysis.bound.below import battery_text, heat_text
from flatwater.analysis.bound.evidence import Database, Evidence
from flatwater.analysis.bound.finding import Finding, found
from flatwater.analysis.bound.sessions import SessionTime, commits_per_s, log_syncs_per_s, session_time
from flatwater.analysis.bound.words import counted, duration, each_second, figure


def find(evidence: Evidence) -> Finding | None:
    """The share of the sessions' time in which they waited for a sync, or for a write of the log."""
    time, database = session_time(evidence), evidence.database
    if time is None or not (time.committing or time.log_buffer):
        return None
    if database is None:
        took = f", {duration(time.sync_us)} each" if time.sync_us is not None else ""
        return found(
            "fsync path",
            time.of(time.committing),
            "time",
            f"{figure(time.committing or 0.0)} of {counted(time.sessions, 'request')} in flight were syncs{took}",
            each_second(evidence.load.fsync_ops_per_s, "syncs"),
            battery_text(evidence),
            heat_text(evidence),
        )
    return found(
        "fsync path",
        time.of((time.committing or 0.0) + (time.log_buffer or 0.0)),
        "time",
        *_waiting(time),
        _grouped(evidence, database),
        _settings(database),
        battery_text(evidence),
        heat_text(evidence),
    )


def _waiting(time: SessionTime) -> Iterator[str]:
    took = f", which took {duration(time.commit_us)}" if time.commit_us is not None else ""
    took += f", and a sync took {duration(time.sync_us)}" if time.sync_us is not None else ""
    places = {f"were in a commit{took}": time.committing, "waited for room in the log buffer": time.log_buffer}
    # The place with the most sessions first.
    for what, number in sorted(places.items(), key=lambda one: -(one[1] or 0.0)):
        if number:
            yield f"{figure(number)} of {counted(time.sessions, 'session')} {what}"


def _grouped(evidence: Evidence, database: Database) -> str | None:
    syncs, commits = log_syncs_per_s(database), commits_per_s(evidence)
    if not syncs:
        return None
    return f"{figure(syncs)} syncs of the log a second for {figure(commits)} commits: {figure(commits / syncs)} in each"


def _settings(database: Database) -> str:
    names = ("innodb_flush_log_at_trx_commit", "sync_binlog", "log_bin")
    text = database.variables.text
    return ", ".join(f"{name} = {text[name]}" for name in names if name in text)
