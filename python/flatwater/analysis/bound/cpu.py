"""The server's processor time: its sessions run, or wait for a processor that other sessions of the server use."""

from __future__ import annotations

from flatwater.analysis.bound.evidence import Evidence
from flatwater.analysis.bound.finding import Finding, found
from flatwater.analysis.bound.processors import Processors, processors
from flatwater.analysis.bound.sessions import SATURATED, TOLD_MIN
from flatwater.analysis.bound.words import counted, duration, figure, percent


def find(evidence: Evidence) -> Finding | None:
    """The share of the sessions' time in which they used the processors, or waited for one because of each other."""
    used = processors(evidence)
    if used is None or evidence.database is None or used.time.server_cpu is None:
        return None
    waited = used.waited(used.server)
    own = min(used.time.server_cpu, used.time.sessions) + waited
    # Who holds a row and waits for a processor makes others wait for the row. With idle processors a row is the limit.
    full = used.idle is not None and used.idle < 1 - SATURATED
    behind = used.time.with_queue(own) - own if full else 0.0
    rate = evidence.load.ops_per_s
    cost = f", {duration(1e6 * used.server / rate.mean)} for each transaction" if rate is not None and rate.mean else ""
    return found(
        "CPU",
        used.time.of(own + behind),
        "time",
        f"the server used {counted(used.server, 'core')}{cost}",
        f"{figure(waited)} of {counted(used.time.sessions, 'session')} waited for a processor because of it"
        if used.time.of(waited) >= TOLD_MIN
        else None,
        f"{figure(behind)} waited for rows that sessions held which ran, or waited for a processor"
        if used.time.of(behind) >= TOLD_MIN
        else None,
        used.busy_text or "",
        _single(used),
    )


def _single(used: Processors) -> str | None:
    """With idle cores beside, the speed of one core decides, and not their number."""
    if used.idle is None or used.idle < 1 - SATURATED or (used.time.cpu_wait or 0.0) > used.server:
        return None
    return f"{percent(used.idle)} of the processors' time was left over: each transaction runs on one core at a time"
