"""The modelled twin of a measured run, with the same protocol: the same lengths of warm-up and measurement."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NewType

import psutil
import tomli_w
from pydantic import JsonValue

from flatwater._engine import EngineError, Run
from flatwater.engine_json import to_json
from flatwater.errors import FlatwaterError, UserError
from flatwater.experiment import Experiment, ModelledStorage, print_size
from flatwater.experiment.database.measured import Figure, MeasuredWorkload, default_workload
from flatwater.experiment.device.load import load_device
from flatwater.experiment.parse import Tables
from flatwater.experiment.validation import validate
from flatwater.fit.workload import to_workload_toml
from flatwater.fit.workload.derive import OLTP_WRITES, READ_ONLY, writes_of
from flatwater.plan.device import Cached, Device, Volume, later, slower
from flatwater.plan.innodb import ModelledDatabase, server_cpu, write_innodb
from flatwater.runner.stack.stack import memory_bytes
from flatwater.what_if.base import Base
from flatwater.what_if.processors import EmulatorCost
from flatwater.what_if.storages import in_virtual_time, placed_tables, placement_tables, recorded_device, scaled_others

#: A longer run is not modelled from its start: the twin begins with a full pool.
WHOLE_S = 240.0
#: The lengths of the twin's warm-up and measurement then.
SHORT_WARMUP_S, SHORT_MEASURE_S = 30.0, 120.0
#: How long the model may take for one interval.
_PATIENCE_S = 600.0
#: Fields of a real run's workload that a modelled workload does not have.
_NOT_OF_A_TWIN = ("check_consistency", "pipeline", "steady_state", "round_s", "rounds_max", "on_error")


@dataclass(frozen=True)
class Scales:
    """The fitted factors: CPU time / counted CPU time, and the storage's latency / recorded latency; and a fitted time.

    `wait_us` is how long each statement waits for what is neither: for locks, for the network. An emulated storage
    keeps the latency of its model. It answers later by the difference between the fitted and the recorded latency of a
    read.
    """

    cpu: float = 1.0
    storage: float = 1.0
    wait_us: float = 0.0


@dataclass(frozen=True)
class Outcome:
    """What a twin counted, per transaction unless the name says otherwise."""

    transactions_per_s: float
    pages_read: float
    pages_written: float
    redo_bytes: float
    hit_ratio: float
    dirty_pct: float
    #: Bytes that the database reads and writes.
    device_bytes_per_s: float


#: The tables of a twin's experiment, as a file has them; a change replaces fields in them.
TwinFile = NewType("TwinFile", Tables)


class Twin:
    """The twin of a measured run. Its files are temporary: use it in a `with`."""

    def __init__(self, base: Base) -> None:
        self.base = base
        self._folder = tempfile.TemporaryDirectory(prefix="flatwater-what-if-")
        self._measured = _workload(base)
        folder = Path(self._folder.name)
        self._workload = folder / "workload.toml"
        self._workload.write_text(to_workload_toml(self._measured), encoding="utf-8")
        self.device = folder / "as-recorded.toml"
        self.device.write_text(tomli_w.dumps(recorded_device(base, base.storage)), encoding="utf-8")
        #: The other storages that the twin has, by their names.
        self.placed = placed_tables(base, folder)
        #: The storage of a run on an emulated device, whose model is known.
        self.emulated = _emulated(base.experiment)
        self.whole = base.warmup_s + base.measure_s <= WHOLE_S
        self.warmup_s = base.warmup_s if self.whole else SHORT_WARMUP_S
        self.measure_s = base.measure_s if self.whole else SHORT_MEASURE_S

    def __enter__(self) -> Twin:
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def _cpu_scale(self) -> float:
        """The server's CPU time for a transaction, as a multiple of the figure in flatwater's measured workload."""
        base = self.base
        costs = default_workload(base.experiment.workload.kind, base.series).cpu_us
        usual = (
            base.statements * costs.statement.value
            + base.pages_read * costs.page_read.value
            + base.pages_written * costs.page_written.value
        )
        return base.server_cpu_us / usual if usual > 0 else 1.0

    def data(self) -> TwinFile:
        """The twin as the tables of an experiment's file, with CPU time and storage as they were recorded."""
        base = self.base
        real = base.experiment.model_dump(exclude_unset=True)
        workload = {**real["workload"], "kind": base.experiment.workload.kind}
        workload |= {"connections": base.experiment.transactions.connections}
        workload |= {"warmup_s": self.warmup_s, "duration_s": self.measure_s}
        return TwinFile(
            {
                "name": "twin",
                "workload": {name: value for name, value in workload.items() if name not in _NOT_OF_A_TWIN},
                "database": {
                    "kind": "innodb-model",
                    "generation": base.generation,
                    "settings": dict(base.settings),
                    "cores": base.cores,
                    "workload": str(self._workload),
                    "warm": not self.whole,
                    **placement_tables(base, self.placed),
                },
                "storage": self._storage(),
            }
        )

    def _storage(self) -> dict[str, JsonValue]:
        if self.emulated is None:
            return {"kind": "volume", "device": str(self.device)}
        return in_virtual_time(self.emulated)

    def is_own(self, experiment: Experiment) -> bool:
        """Whether a changed twin still stands on the storage of the run."""
        own = str(self.device) if self.emulated is None else self.emulated.device
        return experiment.modelled.device == own

    def checked(self, data: TwinFile, where: str) -> Experiment:
        """The experiment of a twin, whatever memory its model takes. Errors: UserError at `where`."""
        experiment, problems = validate(data, overridden=True)
        if experiment is None:
            first = problems[0]
            raise UserError(f"{first.field}: {first.what}", where=where, hint=first.hint)
        if not experiment.in_virtual_time or experiment.database.kind != "innodb-model":
            hint = "storage.device=NAME of `flatwater list --devices`"
            raise UserError("makes the twin a real server", where=where, hint=hint)
        return experiment

    def experiment(self, data: TwinFile, where: str) -> Experiment:
        """The experiment of a twin, whose model this machine can run. Errors: UserError at `where`."""
        experiment = self.checked(data, where)
        needed, free = memory_bytes(experiment) * _runs_at_a_time(), psutil.virtual_memory().available
        if needed > free:
            what = f"the model takes {print_size(needed)} of memory, {print_size(free)} are free"
            raise UserError(what, where=where, hint="a smaller pool, or storage.capacity_scale")
        return experiment

    def used_bytes(self, experiment: Experiment, where: str) -> list[int]:
        """Bytes that the modelled server stores on its storage, then on each device that is beside it in the plan.

        Errors: UserError at `where` for what the model cannot run.
        """
        try:
            return Run.modelled_database_bytes(to_json(write_innodb(experiment, seed=1)))
        except EngineError as error:
            raise UserError(str(error), where=where) from None

    def run(self, experiment: Experiment, scales: Scales, seed: int) -> Outcome:
        """One run of a twin. Errors: UserError if the model cannot run it; FlatwaterError if it fails under way."""
        plan = self._plan(experiment, scales, seed)
        try:
            run = Run.modelled_database(to_json(plan))
        except EngineError as error:
            raise UserError(str(error), where="the twin") from None
        try:
            return _count(run, self.warmup_s, self.measure_s, tpcc=experiment.workload.kind == "tpcc")
        finally:
            run.stop()

    def runs(self, asked: Sequence[tuple[Experiment, Scales, int]]) -> list[Outcome]:
        """Several runs, as many at a time as there are cores. The engine runs without Python's lock."""
        with ThreadPoolExecutor(max_workers=_runs_at_a_time()) as pool:
            return list(pool.map(lambda arguments: self.run(*arguments), asked))

    def _plan(self, experiment: Experiment, scales: Scales, seed: int) -> ModelledDatabase:
        plan = write_innodb(experiment, seed)
        base, costs = self.base, self._measured.cpu_us
        longer = base.stretch * scales.cpu
        times = self._cpu_scale() * longer
        # On another storage nothing is emulated any more.
        emulator = base.emulator if self.is_own(experiment) else EmulatorCost()
        cpu = server_cpu(
            # A client on the server's machine uses the same cores between two statements.
            statement_us=costs.statement.value * times + base.client_statement_us * longer,
            page_read_us=costs.page_read.value * times,
            page_written_us=costs.page_written.value * times,
            round_trip_us=scales.wait_us,
            request_us=emulator.request_us * longer,
        )
        device = plan.device
        if self.is_own(experiment):
            if isinstance(device, Cached):
                device = replace(device, slow=self._scaled(device.slow, scales))
            else:
                device = self._scaled(device, scales)
        others = scaled_others(base, plan.others, experiment, self.placed, scales.storage)
        return replace(plan, cpu=cpu, device=device, others=others)

    def _scaled(self, storage: Device, scales: Scales) -> Device:
        """The storage of the run with the fitted latency."""
        if self.emulated is not None:
            return later(storage, round((scales.storage - 1) * self.base.storage.read_us * 1000))
        assert isinstance(storage, Volume), "the twin wrote the file of this device"
        return slower(storage, scales.storage)


def _emulated(experiment: Experiment) -> ModelledStorage | None:
    """The emulated storage below a server; None if the storage is real, or a flash cache is in between."""
    storage = experiment.storage
    return storage if isinstance(storage, ModelledStorage) and experiment.flash_cache is None else None


def _runs_at_a_time() -> int:
    return max(1, len(os.sched_getaffinity(0)))


def _count(run: Run, warmup_s: float, measure_s: float, *, tpcc: bool) -> Outcome:
    counted = "new_order" if tpcc else "transaction"
    names = ("pages_read_per_s", "pages_flushed_per_s", "log_bytes_per_s", "read_requests_per_s", "dirty_pct")
    totals = dict.fromkeys((*names, "bytes"), 0.0)
    transactions, seconds, at_s = 0, 0.0, 0.0
    while at_s < warmup_s + measure_s - 1e-3:
        interval = run.next_interval(_PATIENCE_S)
        if interval is None:
            raise FlatwaterError(f"the modelled twin ended early: {run.failure() or 'it gave no reason'}")
        length_s, at_s = interval["end_s"] - interval["start_s"], interval["end_s"]
        if interval["start_s"] < warmup_s - 1e-3:
            continue
        transactions += interval["totals"].get(counted, (0, 0, 0))[0]
        seconds += length_s
        for name in names:
            totals[name] += interval["storage"].get(f"database.{name}", 0.0) * length_s
        for name in ("data_read_bytes_per_s", "data_written_bytes_per_s"):
            totals["bytes"] += interval["storage"].get(f"database.{name}", 0.0) * length_s
    if not transactions:
        raise FlatwaterError("the modelled twin did no transaction", hint="try a smaller change")
    requests = totals["read_requests_per_s"]
    return Outcome(
        transactions_per_s=transactions / seconds,
        pages_read=totals["pages_read_per_s"] / transactions,
        pages_written=totals["pages_flushed_per_s"] / transactions,
        redo_bytes=totals["log_bytes_per_s"] / transactions,
        hit_ratio=1.0 - totals["pages_read_per_s"] / requests if requests else 0.0,
        dirty_pct=totals["dirty_pct"] / seconds,
        device_bytes_per_s=totals["bytes"] / seconds,
    )


def _workload(base: Base) -> MeasuredWorkload:
    """Flatwater's measured workload with the redo of this run, and with the run's indexes if they were recorded."""
    usual = default_workload(base.experiment.workload.kind, base.series)
    scale = _redo_scale(base, usual)
    redo = {name: Figure(value=figure.value * scale) for name, figure in usual.redo_bytes.items()}
    indexes = {**usual.indexes, **base.indexes}
    return usual.model_copy(
        update={"generation": base.series, "redo_bytes": redo, "indexes": indexes, "cells": [], "notes": []}
    )


def _redo_scale(base: Base, usual: MeasuredWorkload) -> float:
    """The redo of a transaction in this run, as a multiple of the figure in flatwater's measured workload."""
    if base.redo_bytes <= 0:
        return 1.0
    if "transaction" in usual.redo_bytes and len(usual.redo_bytes) == 1:
        return base.redo_bytes / usual.redo_bytes["transaction"].value
    if getattr(base.experiment.workload, "mode", "") in READ_ONLY:
        return 1.0
    counts = dict(zip(OLTP_WRITES, writes_of(base.experiment), strict=True))
    usual_bytes = sum(counts.get(name, 0) * figure.value for name, figure in usual.redo_bytes.items())
    return base.redo_bytes / usual_bytes if usual_bytes > 0 else 1.0


def device_kind(name: str) -> str:
    """The kind of a modelled device. Errors: UserError if there is no device of that name."""
    return load_device(name, {}).KIND
