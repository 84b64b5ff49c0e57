"""How far two orders of the same things agree: Kendall's tau, and how often chance does as well."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

#: All orders of so many things are tried: 40,320.
_ALL_ORDERS_MAX = 8


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


def chance_of_tau(pairs: Sequence[tuple[float, float]]) -> float | None:
    """The share of all orders of our figures whose tau is at least that of `pairs` (published, ours): exact.

    None without tau, and for more than eight pairs.
    """
    tau = kendall_tau([pairs])
    if tau is None or len(pairs) > _ALL_ORDERS_MAX:
        return None
    theirs = [one for one, _ in pairs]
    orders = [
        kendall_tau([list(zip(theirs, order, strict=True))]) for order in itertools.permutations(o for _, o in pairs)
    ]
    # Equal taus are computed from equal counts, so they are equal to the last bit.
    return sum(one is not None and one >= tau for one in orders) / len(orders)
