"""What a mistyped name may have meant: for every error that says that there is no such thing."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

#: Choices that are listed beside a guess: few enough to read, and the guess may be wrong.
FEW_CHOICES = 8
#: A shorter word is in too many names to mean one of them.
_LEAST_PART = 3
#: A part of more names than this is no name's.
_MOST_WITH_PART = 4


def nearest(word: str, choices: Iterable[str]) -> str | None:
    """The valid choice that looks most like `word`, if any does."""
    close = _closest(word, choices)
    return close[0] if close else None


def suggest(word: str, choices: Sequence[str]) -> str:
    """The hint for a word that is not one of `choices`."""
    listed = f"one of: {', '.join(choices)}"
    guess = guessed(word, choices)
    if guess is None:
        return listed
    return f"{guess} {listed}" if len(choices) <= FEW_CHOICES else guess


def guessed(word: str, choices: Iterable[str]) -> str | None:
    """`did you mean A or B?`; None when nothing looks like `word`."""
    close = _closest(word, choices)
    if not close:
        return None
    return f"did you mean {' or '.join(filter(None, (', '.join(close[:-1]), close[-1])))}?"


def guessed_path(path: Path) -> str | None:
    """The same for a file or folder that is not there: what is beside it."""
    beside: list[str] = []
    with suppress(OSError):
        beside = sorted(other.name for other in path.parent.iterdir())
    close = nearest(path.name, beside)
    return None if close is None else f"did you mean {path.parent / close}?"


def _closest(word: str, choices: Iterable[str]) -> list[str]:
    """The valid choices that look most like `word`: several where they are equally near.

    Where none is like the whole word, those that it is a part of: `virident` of `virident-tachion-400-slc`.
    """
    by_lower = {choice.lower(): choice for choice in choices}
    lower = word.lower()
    near = difflib.get_close_matches(lower, by_lower, n=max(len(by_lower), 1), cutoff=0.6)
    if not near:
        parts = [choice for one, choice in by_lower.items() if len(lower) >= _LEAST_PART and lower in one]
        return parts if len(parts) <= _MOST_WITH_PART else []
    likeness = [difflib.SequenceMatcher(a=one, b=lower).ratio() for one in near]
    best = {one for one, ratio in zip(near, likeness, strict=True) if ratio == likeness[0]}
    return [choice for one, choice in by_lower.items() if one in best]
