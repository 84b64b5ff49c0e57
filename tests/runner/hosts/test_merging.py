"""The intervals of several hosts are added bit for bit, whatever the order in which they come."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flatwater._engine import Histogram, merge_parts
from flatwater.runner.hosts.merging import HostPart, Merger

LATENCIES = st.lists(st.integers(1, 10**10), max_size=30)


def encoded(latencies_ns: list[int], *, in_flight: int = 1, start_s: float = 0.0, end_s: float = 1.0) -> bytes:
    """The bytes of an interval of one kind of transaction, as the engine sends them."""
    histogram = Histogram()
    for latency_ns in latencies_ns:
        histogram.record_ns(latency_ns)
    kind: dict[str, Any] = {"name": "payment", "moves_bytes": False, "counts": True, "bytes": 0, "errors": 1}
    kind |= {"operations": len(latencies_ns), "latency": histogram.to_v2().hex() if latencies_ns else ""}
    told = {
        "start_ns": int(start_s * 1e9),
        "end_ns": int(end_s * 1e9),
        "kinds": [kind],
        "counters": [["queries", 3]],
        "in_flight": in_flight,
        "oldest_ns": 1000 * in_flight,
        "cpu_ns": [200_000_000, 100_000_000],
    }
    return json.dumps(told).encode()


def part(start_s: float, end_s: float, latencies_ns: list[int], **own: float) -> HostPart:
    return HostPart(start_s, end_s, encoded(latencies_ns, start_s=start_s, end_s=end_s), own)


@given(hosts=st.lists(LATENCIES, min_size=1, max_size=5))
def test_histograms_are_the_sum_of_the_parts_bit_for_bit(hosts: list[list[int]]) -> None:
    merged = merge_parts([[encoded(own)] for own in hosts], 0.0, 1.0)
    whole = Histogram()
    for own in hosts:
        for latency_ns in own:
            whole.record_ns(latency_ns)
    found = Histogram.from_v2(merged["histograms"]["payment"]) if "payment" in merged["histograms"] else Histogram()
    assert found.buckets() == whole.buckets()
    assert merged["totals"] == {"payment": (whole.count(), 0, len(hosts))}
    assert merged["counters"] == {"queries": 3 * len(hosts)}
    assert merged["metrics"]["in_flight"] == len(hosts)
    assert merged["metrics"]["ops_per_s"] == whole.count()
    assert merged["cpu_s"] == pytest.approx(0.3 * len(hosts))
    if whole.count():
        assert merged["metrics"]["latency_p99_us"] == whole.quantile_ns(0.99) / 1000


def test_a_second_is_told_when_every_host_has_told_it() -> None:
    merger = Merger(2, 1.0)
    merger.add(0, part(0, 1.0001, [1000], machine_idle_pct=80.0, client_cpu_wait_pct=5.0))
    assert merger.take() is None
    merger.add(0, part(1.0001, 2.0001, [1000, 1000]))
    assert merger.take() is None
    merger.add(1, part(0, 1.0003, [2000], machine_idle_pct=10.0, client_cpu_wait_pct=7.0))
    first = merger.take()
    assert first is not None
    assert (first["start_s"], first["end_s"], first["totals"]["payment"][0]) == (0.0, 1.0, 2)
    metrics = first["metrics"]
    assert (metrics["host0_machine_idle_pct"], metrics["host1_machine_idle_pct"]) == (80.0, 10.0)
    assert (metrics["host0_ops_per_s"], metrics["host0_client_cpu_pct"]) == (1.0, pytest.approx(30.0))
    # What waited for a processor on any host is the load generator's.
    assert metrics["client_cpu_wait_pct"] == 12.0
    assert metrics["client_cpu_user_pct"] == pytest.approx(40.0)
    assert merger.take() is None
    assert merger.late_s == [pytest.approx(0.0001), pytest.approx(0.0003)]


def test_a_host_that_is_late_makes_the_interval_of_all_longer() -> None:
    """A ticker that missed the end of the second second tells two of them at once."""
    merger = Merger(2, 1.0)
    for second in range(3):
        merger.add(0, part(second, second + 1, [1000]))
    merger.add(1, part(0, 1, [2000]))
    merger.add(1, part(1, 2.7, [2000]))
    merger.add(1, part(2.7, 3, [2000]))
    taken = [merger.take(), merger.take()]
    spans = [(one["start_s"], one["end_s"], one["totals"]["payment"][0]) for one in taken if one is not None]
    assert spans == [(0.0, 1.0, 2), (1.0, 3.0, 4)]
    assert merger.take() is None
    assert merger.late_s[1] == pytest.approx(0.3)


def test_the_last_short_parts_are_one_interval() -> None:
    merger = Merger(2, 1.0)
    for host in (0, 1):
        merger.add(host, part(0, 1, [1000]))
    merger.add(0, part(1, 1.2, [1000]))
    merger.end(0)
    assert merger.take() is not None
    assert merger.take() is None, "the other host may tell more"
    merger.add(1, part(1, 1.4, [1000, 1000]))
    merger.end(1)
    last = merger.take()
    assert last is not None
    assert (last["start_s"], last["end_s"], last["totals"]["payment"][0]) == (1.0, 1.4, 3)
    assert merger.over


def test_a_short_end_is_not_part_of_the_second_before() -> None:
    merger = Merger(2, 1.0)
    merger.add(0, part(0, 1, [1000]))
    merger.add(0, part(1, 1.3, [1000]))
    merger.add(1, part(0, 1, [1000]))
    first = merger.take()
    assert first is not None and first["totals"]["payment"][0] == 2


@pytest.mark.parametrize("damaged", [b"", b"{}", b"\xff", encoded([1]).replace(b'"latency": "', b'"latency": "zz')])
def test_damaged_parts_are_an_error(damaged: bytes) -> None:
    with pytest.raises(ValueError):
        merge_parts([[damaged]], 0.0, 1.0)


def test_parts_of_different_workloads_are_an_error() -> None:
    with pytest.raises(ValueError, match="different workloads"):
        merge_parts([[encoded([1])], [encoded([1]).replace(b"payment", b"delivery")]], 0.0, 1.0)
    with pytest.raises(ValueError, match="no parts"):
        merge_parts([], 0.0, 1.0)
