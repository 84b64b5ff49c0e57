"""What each bound must see before it can be found on a real server: without it, its silence means nothing.

What only makes a bound's evidence richer is not here: the log's limit is judged by the checkpoint age, whether the
server counts the pages that it flushed at the limit or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from flatwater.analysis.bound.evidence import Evidence
from flatwater.analysis.bound.finding import Name
from flatwater.results.observation import Gap

#: Series by bound, as `layer.metric`; `layer.*` is any of a layer.
NEEDS: Mapping[Name, tuple[str, ...]] = {
    "client": (),
    "CPU": ("database.server_cpu_user_pct",),
    "contention": ("database.row_lock_time_pct",),
    "device throughput": ("storage.*",),
    "device latency": ("storage.*",),
    "garbage collection": (),
    "fsync path": ("storage.*",),
    "log limit": ("database.checkpoint_age_bytes",),
    "free pages": ("database.pages_flushed_lru_per_s",),
    "dirty limit": ("database.dirty_pct",),
    "cache misses": ("storage.*",),
    "cache destaging": (),
    "neighbour": ("machine.*",),
    "rate asked": (),
}

#: Series that decide nothing by themselves: they are told beside what decides.
RICHER = frozenset(
    {
        "database.history_length",
        "database.pages_flushed_adaptive_per_s",
        "database.pages_flushed_background_per_s",
        "database.pages_flushed_sync_per_s",
    }
)


def gaps_of_bounds(evidence: Evidence, names: Iterable[str]) -> tuple[Gap, ...]:
    """The gaps of a run that keep some bounds from being found."""
    needed = [figure for name, figures in NEEDS.items() if name in names for figure in figures]
    return tuple(gap for gap in evidence.gaps if any(figure in gap.figures for figure in needed))
