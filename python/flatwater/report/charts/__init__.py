"""The charts of the report: one file per chart, registered here.

To add a chart, write `charts/NAME.py` with one class (`name`, `order`, `description`, `draw`), add it below, and write
its test in `tests/report/charts/test_NAME.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatwater.report.charts.array import Array
from flatwater.report.charts.cache import UNDRAWN as UNDRAWN_OF_CACHE
from flatwater.report.charts.cache import Cache
from flatwater.report.charts.chart import CellChart, SweepChart
from flatwater.report.charts.cpu import Cpu
from flatwater.report.charts.database import Database
from flatwater.report.charts.device import Device
from flatwater.report.charts.errors import Errors
from flatwater.report.charts.flash import Flash
from flatwater.report.charts.flushing import Flushing
from flatwater.report.charts.histogram import LatencyHistogram
from flatwater.report.charts.hosts import UNDRAWN as UNDRAWN_OF_HOSTS
from flatwater.report.charts.hosts import Hosts
from flatwater.report.charts.instances import Instances, each
from flatwater.report.charts.kinds import Kinds
from flatwater.report.charts.latency import Latency
from flatwater.report.charts.memory import Memory
from flatwater.report.charts.modelled import Modelled
from flatwater.report.charts.others import Others
from flatwater.report.charts.sessions import Sessions
from flatwater.report.charts.storages import Storages
from flatwater.report.charts.sweep_latency import SweepLatency
from flatwater.report.charts.sweep_throughput import SweepThroughput
from flatwater.report.charts.throughput import Throughput
from flatwater.report.charts.transactions import NAMES, Transactions
from flatwater.report.charts.twins import Twins
from flatwater.report.charts.wear import Wear
from flatwater.report.recorded import Wanted

CELL_CHARTS: tuple[CellChart, ...] = tuple(
    sorted(
        (
            *(Throughput(), Database(), Instances(), Hosts(), Latency(), LatencyHistogram()),
            *(Kinds(), Transactions(), Errors(), Flushing(), Sessions(), Device(), Storages(), Cpu(), Memory()),
            *(Others(), Cache(), Flash(), Wear(), Array(), Modelled()),
        ),
        key=lambda chart: chart.order,
    )
)
SWEEP_CHARTS: tuple[SweepChart, ...] = tuple(
    sorted((Twins(), SweepThroughput(), SweepLatency()), key=lambda chart: chart.order)
)

#: Series that are recorded and in no chart, because other charts show the same more clearly.
UNDRAWN = frozenset(
    {
        "database.data_reads_per_s",
        "database.data_writes_per_s",
        "database.dirty_pages",
        "database.queries_per_s",
        "database.read_requests_per_s",
        "database.threads_connected",
        "machine.cpu_idle_pct",
        "storage.discard_ops_per_s",
        "storage.flush_await_us",
        "storage.flush_ops_per_s",
        "storage.read_bytes_per_s",
        "storage.read_ops_per_s",
        "storage.write_bytes_per_s",
        "storage.write_ops_per_s",
        "workload.bytes_per_s",
        "workload.in_flight",
        "workload.oldest_in_flight_us",
        "workload.commits_per_s",
        "workload.connect_latency_p95_us",
        "workload.connect_ops_per_s",
        "workload.ops_per_s",
        "workload.queries_per_s",
    }
    | {
        f"workload.{kind}_latency_{which}_us"
        for kind in ("read", "write", "fsync", "connect")
        for which in ("p50", "p99", "p999", "max")
    }
    | {f"workload.{kind}_latency_{which}_us" for kind in NAMES for which in ("p50", "p99", "p999", "max")}
    # If there is only one kind of transaction, the totals are its figures.
    | {"workload.transaction_ops_per_s", "workload.transaction_latency_p95_us"}
    | UNDRAWN_OF_CACHE
    | UNDRAWN_OF_HOSTS
    | {*each("database", "dirty_pct"), *each("database", "pages_flushed_per_s")}
)


def wanted_by(charts: Sequence[CellChart]) -> Wanted:
    """The series that these charts draw."""
    return Wanted(
        fine=frozenset(series for chart in charts for series in chart.fine),
        coarse=frozenset(series for chart in charts for series in chart.coarse),
        together=tuple(frozenset(group) for chart in charts for group in chart.together),
        undrawn=UNDRAWN,
    )


WANTED = wanted_by(CELL_CHARTS)

__all__ = ["CELL_CHARTS", "SWEEP_CHARTS", "WANTED", "CellChart", "SweepChart", "wanted_by"]
