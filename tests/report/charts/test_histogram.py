from __future__ import annotations

import base64

import pytest

from flatwater.report.charts.histogram import LatencyHistogram, shares
from flatwater.report.recorded import Recorded

engine = pytest.importorskip("flatwater._engine")


def encoded(*values_ns: tuple[int, int]) -> str:
    found = engine.Histogram()
    for value, count in values_ns:
        found.record_ns(value, count)
    return base64.b64encode(found.to_v2()).decode()


def test_shares_of_bars() -> None:
    # 20 bars a decade: 100 µs is bar -80, 1 ms is bar -60.
    found = shares(encoded((105_000, 990), (1_050_000, 10)))
    assert found == pytest.approx({-80: 99.0, -60: 1.0})


def test_damaged_or_empty_histograms_are_left_out() -> None:
    assert shares("not base64") == {}
    assert shares(base64.b64encode(b"x" * 50).decode()) == {}
    assert shares(base64.b64encode(engine.Histogram().to_v2()).decode()) == {}


def test_kinds_and_percentiles(recorded: Recorded) -> None:
    [figure] = LatencyHistogram().draw(recorded)
    assert [trace["name"] for trace in figure.data] == ["all requests", "read", "write"]
    assert [note["text"].split("<br>")[0] for note in figure.layout["annotations"]] == ["p50", "p95", "p99", "p99.9"]
    assert "1 ms" in figure.layout["xaxis"]["ticktext"]
    assert not figure.linked
    # Sums to 100 % of the requests; the two ends and the empty bars stand on the floor.
    bars = [share for share in figure.data[0]["y"][1:-1:2] if share > min(figure.data[0]["y"])]
    assert sum(bars) == pytest.approx(100, abs=0.1)


def test_one_kind_is_drawn_once(recorded: Recorded) -> None:
    assert recorded.cell.summary is not None
    histograms = recorded.cell.summary.histograms
    recorded.cell.summary.histograms = {"all": histograms["read"], "read": histograms["read"]}
    [figure] = LatencyHistogram().draw(recorded)
    assert [trace["name"] for trace in figure.data] == ["all requests"]


def test_connecting_is_drawn_beside_the_transactions(recorded: Recorded) -> None:
    assert recorded.cell.summary is not None
    histograms = recorded.cell.summary.histograms
    both = {"all": histograms["read"], "transaction": histograms["read"], "connect": histograms["write"]}
    recorded.cell.summary.histograms = both
    [figure] = LatencyHistogram().draw(recorded)
    assert [trace["name"] for trace in figure.data] == ["all transactions", "connect"]


def test_a_single_value_has_an_axis(recorded: Recorded) -> None:
    assert recorded.cell.summary is not None
    recorded.cell.summary.histograms = {"all": encoded((100_000, 5))}
    [figure] = LatencyHistogram().draw(recorded)
    assert figure.layout["xaxis"]["ticktext"]


def test_kinds_of_transaction_by_their_names(recorded_crash: Recorded) -> None:
    [figure] = LatencyHistogram().draw(recorded_crash)
    names = ["all transactions", "New-Order", "Payment", "Order-Status", "Delivery", "Stock-Level"]
    assert [trace["name"] for trace in figure.data] == names
    assert figure.layout["yaxis"]["title"]["text"] == "transactions, % a bar"
