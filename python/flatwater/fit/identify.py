"""The parameters that the measurements cannot tell apart.

The columns of the Jacobian are elasticities: the per cent by which the figure of each row changes when a parameter
changes by one per cent. A column close to zero belongs to a parameter that no row depends on. Columns that are (almost)
linearly dependent belong to parameters that compensate each other: a change of one can be undone by changes of the
others. The collinearity index says how far (Brun, Reichert and Künsch, "Practical identifiability analysis of large
environmental simulation models", Water Resources Research 37, 2001): with an index of 10, nine tenths of a parameter's
effect can be undone.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]

#: Brun et al. call parameters with an index above 10 to 15 not identifiable.
COLLINEAR = 10.0
#: A parameter has no influence if all its elasticities are below this.
INFLUENCE = 0.01
#: Larger groups are not examined: their smallest collinear part is reported.
_LARGEST_GROUP = 4
#: A singular value below this is a rounding error.
_ROUNDING = 1e-12

#: Parameters in words, for sentences; others have only their names.
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
#: Tables in the order in which to fix their figures: those that datasheets give come first.
_FIX_FIRST = ("geometry", "timing", "link", "buffer", "wear", "controller", "collector")


@dataclass(frozen=True)
class Confusion:
    """Parameters that the measurements cannot tell apart, or one that has no influence on them."""

    names: tuple[str, ...]
    #: The collinearity index; None for a parameter without influence.
    index: float | None
    #: The parameter to fix: the one that a datasheet most likely gives.
    fix: str
    #: The whole in a sentence.
    text: str


def confusions(names: Sequence[str], jacobian: Matrix) -> list[Confusion]:
    """Every parameter without influence, and every group of parameters that cannot be told apart.

    `jacobian`: one row a measurement, one column a parameter, d ln figure / d ln value.
    """
    jacobian = np.asarray(jacobian, dtype=np.float64)
    largest = np.abs(jacobian).max(axis=0, initial=0.0)
    found = [_without_influence(name) for name, most in zip(names, largest, strict=True) if most < INFLUENCE]
    influential = [column for column in range(len(names)) if largest[column] >= INFLUENCE]
    groups: list[tuple[int, ...]] = []
    for size in range(2, min(len(influential), _LARGEST_GROUP) + 1):
        for group in itertools.combinations(influential, size):
            if any(set(smaller) <= set(group) for smaller in groups):
                continue
            index = collinearity(jacobian[:, group])
            if index >= COLLINEAR:
                groups.append(group)
                found.append(_collinear([names[column] for column in group], index))
    return found


def collinearity(jacobian: Matrix) -> float:
    """The collinearity index of some columns: 1 if they are orthogonal, infinite if they are linearly dependent."""
    columns = jacobian / np.linalg.norm(jacobian, axis=0)
    if columns.shape[1] > columns.shape[0]:
        return float("inf")
    least = float(np.linalg.svd(columns, compute_uv=False)[-1])
    return 1 / least if least > _ROUNDING else float("inf")


def _without_influence(name: str) -> Confusion:
    text = f"no row depends on {_in_words(name)}: fix it, or add rows that do"
    return Confusion((name,), None, name, text)


def _collinear(names: list[str], index: float) -> Confusion:
    fix = min(names, key=_fixing_order)
    words = [_in_words(name) for name in names]
    all_words = " and ".join(words) if len(words) == 2 else f"{', '.join(words[:-1])} and {words[-1]}"
    how = "exactly" if index == float("inf") else f"collinearity index {index:.0f}"
    text = f"the rows cannot tell {all_words} apart ({how}): fix {_in_words(fix)} from a datasheet"
    return Confusion(tuple(names), index, fix, text)


def _fixing_order(name: str) -> int:
    table = name.partition(".")[0]
    return _FIX_FIRST.index(table) if table in _FIX_FIRST else len(_FIX_FIRST)


def _in_words(name: str) -> str:
    return f"{name} ({WORDS[name]})" if name in WORDS else name
