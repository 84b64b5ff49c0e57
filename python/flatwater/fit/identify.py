"""Which parameters the measurements cannot tell apart.

The Jacobian's columns are elasticities: by how many per cent each row's figure moves when a parameter moves by one.
A column of nearly nothing is a parameter that the rows say nothing about. Columns that lie (almost) in one plane are
parameters of which one's change can be undone by the others': their collinearity index (Brun, Reichert and Künsch,
"Practical identifiability analysis of large environmental simulation models", Water Resources Research 37, 2001) says
how far: with an index of 10, nine tenths of a parameter's effect are undone.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]

#: Brun et al. take indices from 10 to 15 on for not identifiable.
COLLINEAR = 10.0
#: A parameter whose doubling moves no row by 1 % has no influence worth the name.
INFLUENCE = 0.01
#: Larger groups are told as their smallest collinear part anyway.
_LARGEST_GROUP = 4
#: Singular values under this share of the largest are rounding.
_ROUNDING = 1e-12

#: What parameters are, for sentences; others are called by their names.
WORDS = {
    "geometry.raw": "the raw capacity, and so the spare",
    "geometry.unit_blocks": "the size of a collected unit",
    "geometry.pages_per_block": "the size of a block",
    "timing.read_us": "the flash's read time",
    "timing.program_us": "the flash's program time",
    "timing.channel_mib_per_s": "the channels' speed",
    "link.read_mib_per_s": "the link's speed of reads",
    "link.write_mib_per_s": "the link's speed of writes",
    "controller.write_mib_per_s": "K, the host's write rate",
    "controller.read_mib_per_s": "the controller's read rate",
    "controller.synchronous_us": "the driver's time of a synchronous request",
    "controller.asynchronous_us": "the driver's time of an asynchronous request",
    "controller.parallel": "how many requests the driver handles at once",
    "controller.latency_us": "the controller's latency",
    "collector.relocation_mib_per_s": "Kg, the collector's rate",
}
#: Tables in the order in which a datasheet knows their figures: what to fix first.
_KNOWN_FIRST = ("geometry", "timing", "link", "buffer", "wear", "controller", "collector")


@dataclass(frozen=True)
class Confusion:
    """Parameters that the measurements cannot tell apart; one alone has no influence on them."""

    names: tuple[str, ...]
    #: The collinearity index; None for a parameter without influence.
    index: float | None
    #: The parameter to fix: the one that a datasheet is likeliest to know.
    fix: str
    #: The whole in a sentence.
    text: str


def confusions(names: Sequence[str], jacobian: Matrix) -> list[Confusion]:
    """What cannot be told apart.

    `jacobian`: one row a measurement, one column a parameter, d ln figure / d ln value.
    """
    jacobian = np.asarray(jacobian, dtype=np.float64)
    largest = np.abs(jacobian).max(axis=0, initial=0.0)
    found = [_without_influence(name) for name, most in zip(names, largest, strict=True) if most < INFLUENCE]
    felt = [column for column in range(len(names)) if largest[column] >= INFLUENCE]
    groups: list[tuple[int, ...]] = []
    for size in range(2, min(len(felt), _LARGEST_GROUP) + 1):
        for group in itertools.combinations(felt, size):
            if any(set(smaller) <= set(group) for smaller in groups):
                continue
            index = collinearity(jacobian[:, group])
            if index >= COLLINEAR:
                groups.append(group)
                found.append(_collinear([names[column] for column in group], index))
    return found


def collinearity(jacobian: Matrix) -> float:
    """The collinearity index of some columns: 1 when they are at right angles, infinite when one is the others' sum."""
    columns = jacobian / np.linalg.norm(jacobian, axis=0)
    if columns.shape[1] > columns.shape[0]:
        return float("inf")
    least = float(np.linalg.svd(columns, compute_uv=False)[-1])
    return 1 / least if least > _ROUNDING else float("inf")


def _without_influence(name: str) -> Confusion:
    text = f"no row depends on {_told(name)}: fix it, or add rows that do"
    return Confusion((name,), None, name, text)


def _collinear(names: list[str], index: float) -> Confusion:
    fix = min(names, key=_how_known)
    told = [_told(name) for name in names]
    both = " and ".join(told) if len(told) == 2 else f"{', '.join(told[:-1])} and {told[-1]}"
    how = "exactly" if index == float("inf") else f"collinearity index {index:.0f}"
    text = f"the rows cannot tell {both} apart ({how}): fix {_told(fix)} from a datasheet"
    return Confusion(tuple(names), index, fix, text)


def _how_known(name: str) -> int:
    table = name.partition(".")[0]
    return _KNOWN_FIRST.index(table) if table in _KNOWN_FIRST else len(_KNOWN_FIRST)


def _told(name: str) -> str:
    return f"{name} ({WORDS[name]})" if name in WORDS else name
