"""When the figure of a twin for a change is not told, or is marked. `what-if`, `advise` and `cost` all ask here."""

from __future__ import annotations

import math
from collections.abc import Sequence

from flatwater.what_if.base import AT_ITS_LIMIT
from flatwater.what_if.changes import Change
from flatwater.what_if.twin import Twin

#: A twin with a change that does so many times what the run did, or so many times less, is marked. What bounds a server
#: then was no part of the run: one that waits for a disk at each commit spends more CPU time on a transaction than one
#: that is busy. Promised 21 times, such a change measured 65 (docs/what-if.md).
FAR_TIMES = 4.0


def refusal(twin: Twin, change: Change) -> str | None:
    """Why the effect of a change is not predicted; None if it is.

    A run on a storage at its unknown limit shows how late that storage answers, and not what it can do. The twin
    replays these latencies, whatever is asked of its storage. On another storage, whose model is known, it does not.
    """
    if twin.base.limited and twin.is_own(change.experiment):
        return f"{AT_ITS_LIMIT} ({twin.base.limited})"
    return None


def split(twin: Twin, changes: Sequence[Change]) -> tuple[list[Change], dict[str, str]]:
    """The changes that are predicted; and why the others are not, by their names."""
    why = {change.name: told for change in changes if (told := refusal(twin, change)) is not None}
    return [change for change in changes if change.name not in why], why


def far_doubt(ratios: Sequence[float]) -> str | None:
    """A sentence if an explanation's ratio of a change is so far from 1 that the run says little of it; else None."""
    furthest = max(ratios, key=lambda ratio: abs(math.log(ratio)))
    if 1 / FAR_TIMES <= furthest <= FAR_TIMES:
        return None
    return f"the twin does {furthest:.3g} times what the run did: what bounds a server then was not measured"
