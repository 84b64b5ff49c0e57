"""Totals and percentiles of a measured phase, against numbers worked out by hand."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from flatwater._engine import Histogram
from flatwater.runner.tally import Tally


def thousand() -> str:
    """Latencies of 1, 2, ... 1000 us, once each: the p-th percentile is 10 p us."""
    histogram = Histogram()
    for latency_us in range(1, 1001):
        histogram.record_ns(latency_us * 1000)
    return base64.b64encode(histogram.to_v2()).decode()


def line(**more: Any) -> dict[str, Any]:
    told = {"cpu_s": 0.5, "counters": {"deadlocks": 2}, "totals": {"read": (1000, 4096, 3)}, "histograms": {}}
    return told | more


def test_percentiles_are_golden() -> None:
    tally = Tally()
    tally.add(line(histograms={"read": thousand()}))
    for found in (tally.latencies()["read"], tally.latencies()["all"]):
        told = (found.p50, found.p95, found.p99, found.p999, found.max)
        # To the three digits of the histogram, which are closer than the next percentile.
        assert told == pytest.approx((500, 950, 990, 999, 1000), rel=0.0006)
        assert found.count == 1000
    assert tally.quantile_us("read", 0.9) == pytest.approx(900, rel=0.0006)
    assert tally.quantile_us("write", 0.9) is None


def test_all_is_of_both_kinds_and_of_no_fsync() -> None:
    tally = Tally()
    tally.add(line(histograms={"read": thousand(), "write": thousand(), "fsync": thousand()}))
    assert tally.latencies()["all"].count == 2000


def test_what_serves_others_is_no_operation() -> None:
    tally = Tally()
    for _ in range(2):
        tally.add(line(totals={"read": (1000, 4096, 3), "fsync": (10, 0, 1)}))
    assert (tally.operations, tally.bytes, tally.errors) == (2000, 8192, 8)
    assert tally.counters == {"deadlocks": 4}
    assert tally.cpu_us_per_op == 500.0


def test_after_the_measured_phase_only_errors_and_fsyncs_count() -> None:
    tally = Tally()
    tally.add(line())
    tally.add_drained(line(totals={"read": (5, 5, 7)}, histograms={"fsync": thousand(), "read": thousand()}))
    assert (tally.operations, tally.errors) == (1000, 10)
    assert "read" not in tally.latencies() and tally.latencies()["fsync"].count == 1000
