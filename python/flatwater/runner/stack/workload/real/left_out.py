"""What a replay of an observed server's statements cannot send, in words."""

from __future__ import annotations

from flatwater._engine import query_log_sendable
from flatwater.experiment import QueryLog
from flatwater.printing import counted

#: Statements, and their microseconds in the server.
_Amount = tuple[int, float]


def tell_left_out(workload: QueryLog) -> str | None:
    """How much of the recorded load is left out, and why; None of another log, or if nothing is.

    Errors: ValueError if the file cannot be read any more.
    """
    told = query_log_sendable(workload.log_file)
    if told is None:
        return None
    everything, sent, writes, others = told
    parts = [(f"{amount[0]:,} {why} ({_share(amount, everything)} of the time)", amount) for why, amount in others]
    if not workload.allow_writes and writes[0]:
        sent = sent[0] - writes[0], sent[1] - writes[1]
        parts.append((f"{writes[0]:,} that may write ({_share(writes, everything)}; workload.allow_writes)", writes))
    if not parts:
        return None
    # The largest share of the time first.
    parts.sort(key=lambda part: -part[1][1])
    return (
        f"of {counted(everything[0], 'recorded statement')} {sent[0]:,} "
        f"{'is' if sent[0] == 1 else 'are'} replayed, "
        f"{_share(sent, everything)} of their time; left out: {', '.join(text for text, _ in parts)}"
    )


def _share(part: _Amount, everything: _Amount) -> str:
    return f"{100 * part[1] / everything[1]:.3g} %" if everything[1] else "an unknown share"
