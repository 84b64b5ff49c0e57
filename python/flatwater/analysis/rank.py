"""How far two orders of the same things agree: Kendall's tau."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence


def kendall_tau(groups: Iterable[Sequence[tuple[float, float]]]) -> float | None:
    """(concordant - discordant pairs) / all pairs, -1..1, over pairs (published, ours) within each group.

    Two equal published figures define no order, so their pair is left out. Two equal figures of ours whose published
    figures differ count as neither. None if no pair is left.
    """
    agreeing = pairs = 0
    for group in groups:
        for (theirs, ours), (their_other, our_other) in itertools.combinations(group, 2):
            if theirs == their_other:
                continue
            pairs += 1
            if ours != our_other:
                agreeing += 1 if (theirs < their_other) == (ours < our_other) else -1
    return agreeing / pairs if pairs else None
