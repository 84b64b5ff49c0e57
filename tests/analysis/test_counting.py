from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from flatwater.analysis.counting import events_an_interval, scatter_of_counting
from flatwater.results.series import EMPTY

sys.path.insert(0, str(Path(__file__).parent))
from known_series import series


@pytest.mark.parametrize(
    ("unit", "events"),
    [("NOTPM", 10), ("NOPM", 10), ("tpm", 10), ("TpmC", 10), ("tps", 600), ("qps", 600), ("IOPS", 600), ("MiB/s", 50)],
)
def test_what_an_interval_counts(unit: str, events: float) -> None:
    values, completed = series(np.full(20, 600.0)), series(np.full(20, 50.0))
    assert events_an_interval(values, completed, unit, 1.0) == events
    assert events_an_interval(values, completed, unit, 0.5) == events / 2


def test_bytes_alone_say_nothing_of_requests() -> None:
    assert events_an_interval(series(np.full(20, 600.0)), EMPTY, "MiB/s", 1.0) is None
    assert scatter_of_counting(None) == 0


def test_a_poisson_variable_scatters_by_its_root() -> None:
    counts = np.random.default_rng(5).poisson(100, 100_000)
    assert scatter_of_counting(100) == pytest.approx(counts.std() / counts.mean(), rel=0.01)
