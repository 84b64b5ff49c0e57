"""How busy a volume is by its requests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "advise"))
from cases import experiment, line

from flatwater.analysis.bound.line import Line
from flatwater.analysis.bound.rationed import busier, requests_busy
from flatwater.experiment import ModelledStorage

#: 300 requests a second, bursts of 3,000.
VOLUME = '[workload]\nkind = "fileio"\nmode = "rndrd"\n[storage]\nkind = "{}"\ndevice = "{}"\n'


def storage(kind: str = "volume", device: str = "ebs-gp2-100gib") -> ModelledStorage:
    found = experiment(VOLUME.format(kind, device)).storage
    assert isinstance(found, ModelledStorage)
    return found


def falling(by: float) -> Line:
    return Line(line(*(5e6 - by * second for second in range(60))).value)


def test_credits_that_fall_tell_the_requests() -> None:
    assert (found := requests_busy(storage(), falling(1200), line(7), 1.0)) is not None
    assert found.mean == pytest.approx(100 * (300 + 1200) / 3000)
    assert (whole := requests_busy(storage(), falling(2 * 2700), line(7), 2.0)) is not None
    assert whole.mean == pytest.approx(100), "in steps of two seconds"


def test_full_and_empty_credits_tell_nothing_so_the_requests_do() -> None:
    for left in (5.4e6, 0.0):
        assert (found := requests_busy(storage(), line(left), line(600), 1.0)) is not None
        assert found.mean == pytest.approx(20)
    assert requests_busy(storage(), line(0), None, 1.0) is None


def test_of_no_other_storage() -> None:
    assert requests_busy(storage("hdd", "disk-7200"), None, line(600), 1.0) is None


def test_the_busier_of_two() -> None:
    assert (found := busier(line(10, 50), line(20, 30))) is not None
    assert (found.min, found.max) == (20, 50)
    assert busier(None, None) is None
