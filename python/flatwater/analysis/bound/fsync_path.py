"""Commits wait until the log is durable: a write, and a flush of the device's cache, one after another.

Sessions that wait for room in the log buffer wait for such a write, too.
"""

from __future__ import annotations

from collections.abc import Iterator

from flatwater.analysis.bound.below import battery_text, heat_text
from flatwater.analysis.bound.evidence import Database, Evidence
from flatwater.analysis.bound.finding import Finding, found
from flatwater.analysis.bound.sessions import (
    TOLD_MIN,
    SessionTime,
    binlog_syncs_per_s,
    commits_per_s,
    redo_syncs_per_s,
    session_time,
)
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
        time.of(time.in_commits + time.with_queue(time.log_buffer)),
        "time",
        *_waiting(evidence, time),
        _grouped(evidence, database),
        _settings(database),
        battery_text(evidence),
        heat_text(evidence),
    )


def _waiting(evidence: Evidence, time: SessionTime) -> Iterator[str]:
    took = f", which took {duration(time.commit_us)}" if time.commit_us is not None else ""
    took += f", and a sync took {duration(time.sync_us)}" if time.sync_us is not None else ""
    # A model does not tell apart a buffer that is full and one that another thread holds while it writes.
    held = "until another thread had written the log, or " if evidence.layers.virtual else ""
    buffer = f"waited {held}for room in the log buffer"
    places = {f"were in a commit{took}": time.committing, buffer: time.log_buffer}
    # The place with the most sessions first.
    for what, number in sorted(places.items(), key=lambda one: -(one[1] or 0.0)):
        if time.of(number) >= TOLD_MIN:
            yield f"{figure(number or 0.0)} of {counted(time.sessions, 'session')} {what}"
    behind = time.in_commits - (time.committing or 0.0)
    if time.of(behind) >= TOLD_MIN:
        yield f"{figure(behind)} waited for rows that these hold until the binary log is safe"


def _grouped(evidence: Evidence, database: Database) -> str | None:
    commits = commits_per_s(evidence)
    logs = {"redo log": redo_syncs_per_s(database), "binary log": binlog_syncs_per_s(database)}
    told = [
        f"{figure(syncs)} syncs of the {name} a second ({figure(commits / syncs)} commits in each)"
        for name, syncs in logs.items()
        if syncs
    ]
    return f"{', '.join(told)} for {figure(commits)} commits" if told and commits else None


def _settings(database: Database) -> str:
    names = ("innodb_flush_log_at_trx_commit", "sync_binlog", "log_bin")
    text = database.variables.text
    return ", ".join(f"{name} = {text[name]}" for name in names if name in text)
