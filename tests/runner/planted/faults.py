"""What is planted into a run, and what must be said of it. The registry of faults, and of runs without any.

`modelled_faults.py` has the runs in virtual time, `real_faults.py` the real ones: a MariaDB server, or fileio, on real
or on emulated storage in real time. To plant another, write a line there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from flatwater.advise.adviser import Consultation

Tables = dict[str, Any]
_NONE: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Planted:
    """An experiment with one fault."""

    #: What is wrong, in a few words.
    name: str
    tables: Tables
    #: One of these bounds must be the first or the second finding. Empty: no bound is the answer.
    bounds: frozenset[str] = _NONE
    #: One of these rules must be the first or the second to speak. Empty: there is nothing to advise.
    rules: frozenset[str] = _NONE
    #: What runs beside it on this machine, by the name of its fixture; real runs only.
    beside: str = ""
    #: The place of its data, by the name of its fixture; real runs only.
    ground: str = ""


@dataclass(frozen=True)
class Healthy:
    """An experiment without a fault."""

    name: str
    tables: Tables
    #: What may be named: `nothing` for a rate that is served, else what such a run spends its time on.
    bounds: frozenset[str] = field(default=frozenset({"nothing"}))
    #: What may be advised. Empty: nothing at all.
    rules: frozenset[str] = _NONE


#: Runs one of them, and asks for advice.
Consult = Callable[[Planted | Healthy], Consultation]


def names(*words: str) -> frozenset[str]:
    """Any of these."""
    return frozenset(words)


def device(name: str, kind: str = "ssd", **more: Any) -> Tables:
    """Modelled storage, in virtual time."""
    return {"kind": kind, "device": name, **more}


def emulated(name: str, kind: str = "ssd", **more: Any) -> Tables:
    """The same in real time; `storage.path` is filled in by who runs it."""
    return {"kind": kind, "device": name, "real_time": True, **more}
