"""Headings that a program prints again: on each screen, or because it was started again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

#: Lines between two headings on a screen of 24 lines, which programs take for a file, too. No screen has fewer.
_SCREEN = (20, 21, 22)


def starts_of(blocks: Sequence[tuple[int, int]]) -> list[int]:
    """The numbers of the blocks that begin with a start of the program. A block is what follows a heading.

    Each is given by its lines that can be read, and those that cannot. On a screen, all headings have the same
    distance; one that comes earlier or later is that of a new start.
    """
    filled = [number for number, block in enumerate(blocks) if sum(block)]
    counts = Counter(sum(blocks[number]) for number in filled[:-1])
    often = [length for length, count in counts.items() if length >= _SCREEN[0] and (count > 1 or length in _SCREEN)]
    screen = max(often, key=lambda length: (counts[length], length), default=None)
    starts = filled[:1]
    for before, number in pairwise(filled):
        readable, unreadable = blocks[before]
        if screen is None or not readable <= screen <= readable + unreadable:
            starts.append(number)
    return starts


def starts_note(program: str, count: int) -> list[str]:
    """The note about several starts; empty if there was one only."""
    if count < 2:
        return []
    return [f"{program} was started {count} times: the mean since boot is left out each time"]
