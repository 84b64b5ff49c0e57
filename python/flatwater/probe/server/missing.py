"""The figures that a server does not tell, and why: a privilege that the account lacks, or counters that are off."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from flatwater.results.observation import Gap

#: Series of the layer `database` that are told together, by what they are. The figures are those of `names.PLACES`.
GROUPS: dict[str, dict[str, str]] = {
    "why pages were flushed": {
        "flushed_adaptive": "pages_flushed_adaptive_per_s",
        "flushed_sync": "pages_flushed_sync_per_s",
        "flushed_background": "pages_flushed_background_per_s",
        "flushed_lru": "pages_flushed_lru_per_s",
    },
    "the checkpoint age": {"age": "checkpoint_age_bytes"},
    "the length of the history": {"history": "history_length"},
}
#: The right to read information_schema.INNODB_METRICS and SHOW ENGINE INNODB STATUS, in MySQL and in MariaDB.
_PROCESS = "GRANT PROCESS ON *.* TO the account of the url"


@dataclass(frozen=True)
class Counters:
    """What information_schema.INNODB_METRICS said."""

    #: Its counters, and whether they count.
    enabled: Mapping[str, bool]
    #: Whether the account may not read it.
    refused: bool = False


def gaps_of(told: Collection[str], counters: Counters, places: Mapping[str, tuple[str, ...]]) -> tuple[Gap, ...]:
    """The gaps of a server that tells the figures `told`. `places` are the counters that each figure may be in."""
    found = []
    for what, series in GROUPS.items():
        lacking = [figure for figure in series if figure not in told]
        if not lacking:
            continue
        names = [f"database.{series[figure]}" for figure in lacking]
        if counters.refused:
            found.append(Gap(what=what, figures=names, why="the account lacks the privilege PROCESS", remedy=_PROCESS))
            continue
        off = [one for figure in lacking for one in places.get(figure, ()) if counters.enabled.get(one) is False]
        if off:
            why = f"the server's counters are off: {', '.join(off)}"
            remedy = "; ".join(f"SET GLOBAL innodb_monitor_enable = '{one}'" for one in off)
            found.append(Gap(what=what, figures=names, why=why, remedy=remedy))
        else:
            found.append(Gap(what=what, figures=names, why="this server does not count it"))
    return tuple(found)
