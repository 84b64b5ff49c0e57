"""The model's figures of a device under a condition: on a small copy of it, always with the same random numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flatwater._engine import EngineError, Histogram, Run
from flatwater.engine_json import to_json
from flatwater.errors import UserError
from flatwater.experiment.device import Device, Use
from flatwater.experiment.device.files import find_device, read_tables
from flatwater.experiment.device.load import load_device
from flatwater.experiment.device.parameters import Parameter
from flatwater.experiment.device.ssd import SsdDevice
from flatwater.experiment.units import parse_size
from flatwater.fit.table import Condition, Measurement
from flatwater.plan.device import write_device
from flatwater.plan.fileio import ModelledFileio, write_plain_fileio

#: Units of collection of the small copy. With fewer, its write amplification is above that of a large device.
UNITS = 4000
#: A figure is measured over at least this many requests, and over the bytes of this many collections of a unit.
REQUESTS = 60_000
COLLECTIONS = 200
#: Share of the requests at the beginning that are not counted, because queues and buffers still fill.
WARMUP = 0.15
#: Interval of the run in virtual time. Runs end at the end of an interval.
INTERVAL_MS = 20
#: A run ends after this virtual time even if it has fewer requests.
LONGEST_S = 3600.0
_QUANTILES = {"p50_us": 0.5, "p95_us": 0.95, "p99_us": 0.99}


class Evaluator:
    """Figures of the model of one device with some parameters replaced. Keeps the figures that it has computed."""

    def __init__(self, device: str, *, seed: int = 1, requests: int = REQUESTS) -> None:
        self.device = device
        self.seed = seed
        self.requests = requests
        #: Number of simulations.
        self.runs = 0
        self._computed: dict[tuple[Any, ...], dict[str, float]] = {}

    def load(self, parameters: Mapping[str, Parameter] | None = None) -> Device:
        """The device with some of its figures replaced. Errors: UserError if such a device is impossible."""
        return load_device(self.device, parameters)

    def figures(self, condition: Condition, parameters: Mapping[str, Parameter] | None = None) -> dict[str, float]:
        """Every metric of `table.METRICS` under a condition.

        Errors: UserError if the device is impossible, or cannot be used like that.
        """
        key = (condition, tuple(sorted((parameters or {}).items())))
        if key not in self._computed:
            self._computed[key] = self._simulate(self.load(parameters), condition)
        return self._computed[key]

    def values(self, rows: Sequence[Measurement], parameters: Mapping[str, Parameter] | None = None) -> list[float]:
        """The model's figure of each row."""
        return [self.figures(row.condition, parameters)[row.metric] for row in rows]

    def _simulate(self, device: Device, condition: Condition) -> dict[str, float]:
        self.runs += 1
        plan = plan_of(device, condition, self.seed)
        requests = max(self.requests, COLLECTIONS * _unit_bytes(device) // condition.block_bytes)
        if condition.initial == "fresh":
            # The measurement is of the time before the flash is full.
            requests = min(requests, plan.workload.file_bytes // condition.block_bytes // 2)
        try:
            return measure(plan, requests)
        except EngineError as error:
            raise UserError(str(error), where=f"{self.device}: {condition}") from None


def use_of(condition: Condition, scale: float) -> Use:
    """How a condition uses the device."""
    return Use(
        asynchronous=condition.engine == "io_uring",
        align_bytes=condition.block_bytes,
        initial=condition.initial,  # type: ignore[arg-type]
        reserve=condition.reserve_pct / 100,
        scale=scale,
    )


def plan_of(device: Device, condition: Condition, seed: int, scale: float | None = None) -> ModelledFileio:
    """The plan of a condition on a device. Errors: UserError if it uses more than the device has."""
    scale = scale if scale is not None else small_scale(device)
    use = use_of(condition, scale)
    usable = device.usable_bytes(use)
    used = condition.used_bytes * scale if condition.used_bytes else condition.fill * usable
    if used > usable * 1.001:
        hint = "reserve less, or remove the row"
        raise UserError(f"more is used than the device has: {condition}", where=device.title, hint=hint)
    file_bytes = int(min(used, usable)) // condition.block_bytes * condition.block_bytes
    read_pct = {"rd": 100.0, "wr": 0.0}.get(condition.mode[-2:], condition.read_pct)
    return write_plain_fileio(
        write_device(device, use),
        sequential=condition.mode.startswith("seq"),
        read_pct=read_pct,
        block_bytes=condition.block_bytes,
        file_bytes=file_bytes,
        threads=condition.threads,
        queue_depth=condition.queue_depth,
        seed=seed,
        interval_ms=INTERVAL_MS,
    )


def measure(plan: ModelledFileio, requests: int) -> dict[str, float]:
    """Throughput and latency over a number of requests of a run in virtual time. Errors: EngineError."""
    run = Run.modelled(to_json(plan))
    latency = Histogram()
    counted = counted_bytes = 0
    start_s = end_s = 0.0
    done = 0
    while counted < requests and end_s < LONGEST_S:
        try:
            interval = run.next_interval(0)
        except StopIteration:
            break
        assert interval is not None, "a modelled run has its next interval at once"
        operations = sum(total[0] for total in interval["totals"].values())
        done += operations
        end_s = interval["end_s"]
        if done - operations < WARMUP * requests and counted == 0:
            start_s = end_s
            continue
        counted += operations
        counted_bytes += sum(total[1] for total in interval["totals"].values())
        for histogram in interval["histograms"].values():
            latency.merge(Histogram.from_v2(histogram))
    failure = run.failure()
    if failure is not None:
        raise EngineError(failure)
    if not counted:
        raise EngineError("it completed no request in an hour of virtual time")
    seconds = end_s - start_s
    found = {"MiB/s": counted_bytes / seconds / 2**20, "IOPS": counted / seconds}
    return found | {name: latency.quantile_ns(quantile) / 1000 for name, quantile in _QUANTILES.items()}


def _unit_bytes(device: Device) -> int:
    """Bytes that a card erases and collects together; 1 for a device without flash."""
    return device.geometry.unit_bytes if isinstance(device, SsdDevice) else 1


def small_scale(device: Device, units: int = UNITS) -> float:
    """The share of a card's capacity that has `units` units. Its speeds stay, and it is made quickly."""
    if not isinstance(device, SsdDevice):
        return 1.0
    return min(1.0, units * device.geometry.unit_bytes / device.geometry.raw)


def free_value(device: str, name: str) -> float:
    """A figure of a device's file by its dotted name, as a number. Errors: UserError if it is not a number over 0."""
    table: Any = read_tables(find_device(device))
    for part in name.split("."):
        table = table.get(part) if isinstance(table, dict) else None
    if isinstance(table, str):
        try:
            table = parse_size(table)
        except ValueError:
            table = None
    if isinstance(table, bool) or not isinstance(table, int | float) or table <= 0:
        hint = "`flatwater show DEVICE` shows its figures"
        raise UserError(f"{name} is no number over 0 in the device's file", where=device, hint=hint)
    return float(table)


def with_free(device: str, values: Mapping[str, float]) -> dict[str, Parameter]:
    """Values in the form of the device's file: sizes as text, counts as whole numbers, others with a fraction."""
    return {name: as_written(device, name, value) for name, value in values.items()}


def as_written(device: str, name: str, value: float) -> str | int | float:
    """A value in the form of the figure that it replaces."""
    table: Any = read_tables(find_device(device))
    figure: Any = load_device(device)
    for part in name.split("."):
        table, figure = table[part], getattr(figure, part)
    if isinstance(table, str):
        return f"{round(value)}B"
    # The file may have 20 for a figure that is 20.0 in the device.
    return round(value) if isinstance(figure, int) else value
