"""A twin that is not like its run is told, at the limits themselves."""

from __future__ import annotations

import pytest

from flatwater.analysis.twin_doubts import level_doubt, pages_doubt
from flatwater.what_if.fitting import Compared


@pytest.mark.parametrize(
    ("measured", "model", "doubted"),
    [(100, 200, ""), (100, 201, "2.0 x higher"), (100, 50, ""), (100, 49, "2.0 x lower"), (0, 5, ""), (5, 0, "")],
)
def test_the_level(measured: float, model: float, doubted: str) -> None:
    found = level_doubt(measured, model, "tps")
    assert (doubted in found) if doubted and found else found is None and not doubted


@pytest.mark.parametrize(
    ("measured", "model", "doubted"),
    [
        (10, 5, "50 % fewer"),
        (10, 5.1, ""),
        (10, 15, "50 % more"),
        (10, 14.9, ""),
        (10, 2.9, "71 % fewer"),
        (0.04, 0.01, ""),
        (0, 3, "writes pages"),
    ],
)
def test_the_pages_written(measured: float, model: float, doubted: str) -> None:
    found = pages_doubt(Compared("pages written", "a transaction", measured, model, given=False))
    assert (doubted in found) if doubted and found else found is None and not doubted
