"""Results that stay open for a while: whoever zooms asks for one span after the other."""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass

from flatwater.results import Cell, Result, open_result
from flatwater.serve.folders import Stamp
from flatwater.serve.listed import Listed

#: Results that are kept open, the last ones that were asked for.
OPEN_MAX = 4
#: The journal of a run under way is copied to be read. The copy is used for this long, as it takes seconds.
COPY_S = 60.0


@dataclass
class _Kept:
    stamp: Stamp
    result: Result
    opened_s: float


class Opened:
    """The results. Its method is called by one thread at a time."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    def cell(self, listed: Listed, index: int) -> Cell | None:
        """A cell of a result; None if it has none of this number. Errors: FlatwaterError."""
        key, stamp = listed.place.key, listed.place.stamp
        kept = self._kept.pop(key, None)
        if kept is None or kept.stamp != stamp or (listed.status == "running" and _old(kept)):
            kept = _Kept(stamp, open_result(listed.place.path), time.monotonic())
        self._kept[key] = kept
        while len(self._kept) > OPEN_MAX:
            self._kept.popitem(last=False)
        return next((cell for cell in kept.result.cells if cell.index == index), None)


def _old(kept: _Kept) -> bool:
    return time.monotonic() - kept.opened_s > COPY_S
