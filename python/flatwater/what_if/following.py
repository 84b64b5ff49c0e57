"""Settings that a server changes by itself when another one is changed: the twin does the same.

The twin has every setting that the server reported, also those that nobody wrote. With one of a pair changed alone, a
server still starts. MySQL's manual says of `innodb_io_capacity_max`: if it is not written, it is twice
`innodb_io_capacity`, and 2000 at least. MariaDB raises it in the same way when `innodb_io_capacity` is set above it. Of
`innodb_max_dirty_pages_pct` both say that `innodb_max_dirty_pages_pct_lwm` is lowered to it. MariaDB writes its log
through the kernel's page cache where it starts with `innodb_flush_log_at_trx_commit = 2`, and past it otherwise, if
`innodb_log_file_buffering` is not written (MDEV-28766).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from flatwater.experiment.database.settings import Setting

_SETTINGS = "database.settings."


@dataclass(frozen=True)
class _Pair:
    """A setting, the one that follows it, and what that becomes once they contradict each other."""

    changed: str
    follows: str
    contradict: Callable[[float, float], bool]
    becomes: Callable[[float], float]
    #: Whether a server that was told both keeps both.
    can_be_written: bool = False


#: innodb_flush_log_at_trx_commit of a log that each commit writes, and that is synced once a second.
_SYNCED_EACH_SECOND = 2
_PAIRS = (
    _Pair("innodb_io_capacity", "innodb_io_capacity_max", lambda own, other: own > other, lambda own: 2 * own),
    _Pair(
        "innodb_max_dirty_pages_pct",
        "innodb_max_dirty_pages_pct_lwm",
        lambda own, other: own < other,
        lambda own: own,
    ),
    _Pair(
        "innodb_flush_log_at_trx_commit",
        "innodb_log_file_buffering",
        lambda own, other: (own == _SYNCED_EACH_SECOND) != bool(other),
        lambda own: own == _SYNCED_EACH_SECOND,
        can_be_written=True,
    ),
)
#: The words of switches, as servers print them.
_SWITCHES = {"ON": True, "OFF": False}


def follow(settings: dict[str, Setting], fields: Sequence[str], written: Collection[str] = ()) -> list[str]:
    """Changes the settings of a twin that follow the changed `fields`, unless they are changed too; says which.

    `written`: the settings that the server of the run was told.
    """
    notes = []
    for pair in _PAIRS:
        if _SETTINGS + pair.changed not in fields or _SETTINGS + pair.follows in fields:
            continue
        if pair.can_be_written and pair.follows in written:
            continue
        own, other = _number(settings.get(pair.changed)), _number(settings.get(pair.follows))
        if own is None or other is None or not pair.contradict(own, other):
            continue
        settings[pair.follows] = follows = type(other)(pair.becomes(own))
        shown = ("ON" if follows else "OFF") if isinstance(follows, bool) else f"{follows:,}"
        notes.append(f"with {pair.follows} = {shown}, to which the server changes it itself")
    return notes


def _number(value: object) -> float | None:
    """A value as a number; None for a size in words or a list, which the check of the experiment reads or refuses."""
    if isinstance(value, str) and value.upper() in _SWITCHES:
        return _SWITCHES[value.upper()]
    try:
        return value if isinstance(value, int | float) else int(str(value))
    except ValueError:
        return None
