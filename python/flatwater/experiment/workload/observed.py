"""The work of a server's own clients, which is watched and not made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from flatwater.experiment.problem import Problem
from flatwater.experiment.workload.timing import Timing, problem

#: Fields of the other workloads that say how a load is made. Here no load is made.
_OF_A_LOAD = ("rate_per_s", "arrival", "warmup_s", "steady_state", "round_s", "rounds_max", "on_error")


class Observed(Timing):
    """What the clients of a running server ask of it; needs `database.url`. flatwater sends no load of its own."""

    kind: Literal["observed"] = "observed"
    #: tps counts the transactions that clients end (COMMIT and ROLLBACK), qps their statements.
    unit: Literal["tps", "qps"] = "tps"
    #: Keep samples of the statements as clients sent them, with their values, so that they can be replayed.
    samples: bool = False

    def conflicts(self) -> Iterator[Problem]:
        """Fields that tell how to make a load."""
        fields = type(self).model_fields
        for name in _OF_A_LOAD:
            if getattr(self, name) != fields[name].default:
                what = "has no meaning where the server's own clients make the load"
                yield problem(name, what, "take it out", "kind")
