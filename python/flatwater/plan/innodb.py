"""A modelled InnoDB on modelled devices."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from flatwater.experiment import Experiment
from flatwater.experiment.database import InnodbModel
from flatwater.experiment.database.innodb import Cpu as CpuTable
from flatwater.experiment.database.innodb import Policy
from flatwater.experiment.database.innodb_settings import InnodbSettings
from flatwater.experiment.database.lineage import EngineGeneration, engine_generation
from flatwater.experiment.database.machine import Machine
from flatwater.experiment.database.measured import CpuFigures, MeasuredWorkload
from flatwater.experiment.database.placement import Holding, Part
from flatwater.experiment.device import Device as ModelledDevice
from flatwater.experiment.device import Use
from flatwater.experiment.device.load import load_device
from flatwater.experiment.storage import ModelledStorage
from flatwater.plan.device import Device, write_cached, write_device
from flatwater.plan.fileio import write_storage
from flatwater.plan.transactions import ModelledTransactions, write_modelled_transactions
from flatwater.plan.units import interval_ms, ns

#: Kinds of storage that the kernel calls rotational.
ROTATING = frozenset({"hdd", "raid"})
#: The kernel's page cache has pages of this size, and data pages are larger. A log that bypasses it has sectors.
ALIGN_BYTES = 4096
DIRECT_ALIGN_BYTES = 512


@dataclass(frozen=True)
class Cpu:
    """CPU time of a server's work, in time of one core."""

    statement_ns: int
    #: For a page that a statement uses.
    touch_ns: int
    #: For a page that is read or written.
    read_ns: int
    write_ns: int
    #: The time in which a statement, or the read of a page, holds the mutexes that all threads share.
    mutex_ns: int = 0
    read_mutex_ns: int = 0
    #: The time between the answer to a statement and the next statement.
    round_trip_ns: int = 0
    #: The kernel's time for a sync of a file, and for each page that was written since the last sync.
    fsync_ns: int = 0
    sync_page_ns: int = 0
    #: What each read and write of a device takes of the cores beside the server's work, which does not wait for it.
    request_ns: int = 0


@dataclass(frozen=True)
class Measured:
    """Counts from transactions on a real server."""

    redo_bytes: Mapping[str, float]
    #: Rows of a leaf page, by `table.index`.
    rows_a_page: Mapping[str, int]
    optimizer: Literal["mariadb", "mysql", "mysql55"]


@dataclass(frozen=True)
class Table:
    """A table with its indexes."""

    table: str


@dataclass(frozen=True)
class Other:
    """A separate device for a part of the server."""

    #: The name in its series.
    name: str
    device: Device
    holds: tuple[Part | Table, ...]


@dataclass(frozen=True)
class ModelledDatabase:
    """Transactions on modelled servers, in virtual time: `database::Spec` of crates/model."""

    workload: ModelledTransactions
    measured: Measured
    servers: int
    connections: int
    generation: EngineGeneration
    settings: InnodbSettings
    #: A built-in policy that replaces the policy of the generation.
    flushing: Policy | None
    cores: int
    cpu: Cpu
    #: Start in the state after a long run.
    warm: bool
    device: Device
    others: tuple[Other, ...]
    #: Memory of the kernel for pages of the log; None: no limit.
    page_cache_bytes: int | None
    interval_ms: int
    seed: int


def write_innodb(cell: Experiment, seed: int, *, fresh: bool = False) -> ModelledDatabase:
    """The plan of a cell's modelled servers (`fresh`: devices that were never written, and an empty pool)."""
    database = innodb_of(cell)
    measured = database.measured(cell.workload.kind)
    return ModelledDatabase(
        workload=write_modelled_transactions(cell),
        measured=write_measured(measured, database.generation),
        servers=database.servers,
        connections=cell.transactions.connections,
        generation=engine_generation(database.generation),
        settings=_settings_on(database, cell.storage.kind),
        flushing=database.built_in_policy,
        cores=database.hardware.at_once,
        cpu=write_cpu(database.cpu, measured.cpu_us, database.hardware),
        warm=database.warm and not fresh,
        device=write_storage(cell, asynchronous=True, align_bytes=_align_bytes(database), fresh=fresh),
        others=(
            *(_other(cell, database, name, holding) for name, holding in database.other_devices.items()),
            *(_placed(cell, name, holding, fresh=fresh) for name, holding in database.placed_storages.items()),
        ),
        page_cache_bytes=database.page_cache_bytes,
        interval_ms=interval_ms(cell),
        seed=seed,
    )


def innodb_of(cell: Experiment) -> InnodbModel:
    """The cell's modelled servers. Raises TypeError for any other database."""
    if not isinstance(cell.database, InnodbModel):
        raise TypeError(f"the database is {cell.database.kind}, not a modelled InnoDB")
    return cell.database


def _settings_on(database: InnodbModel, storage: str) -> InnodbSettings:
    """The settings as a server with its tables on this kind of storage acts on them.

    MariaDB writes neighbours on rotating disks only, whatever innodb_flush_neighbors says (MDEV-17380;
    buf_do_flush_list_batch). An array is taken for one of disks, as all of `devices/` are.
    """
    resolved = database.resolved
    if engine_generation(database.generation).startswith("mariadb") and storage not in ROTATING:
        return replace(resolved, innodb_flush_neighbors=0)
    return resolved


def write_measured(measured: MeasuredWorkload, redo_of: str) -> Measured:
    """The plan of a measured workload, with the redo of a generation if it was measured."""
    redo = measured.redo_bytes if measured.tells_redo_of(redo_of) else {}
    return Measured(
        redo_bytes={name: figure.value for name, figure in redo.items()},
        rows_a_page=measured.rows_a_page(),
        optimizer=_optimizer(measured.generation),
    )


def _optimizer(generation: str) -> Literal["mariadb", "mysql", "mysql55"]:
    """Whose optimizer a generation has: MySQL's has used the primary key behind a secondary one since 5.6."""
    if generation.startswith("mariadb"):
        return "mariadb"
    return "mysql55" if generation.endswith(("-5.1", "-5.5")) else "mysql"


def write_cpu(cpu: CpuTable, measured: CpuFigures, machine: Machine) -> Cpu:
    """The plan of the CPU costs on a machine. On slower cores, measured times are longer."""
    times = machine.cpu_scale if cpu.times is None else cpu.times

    def ours(asked_us: float | None, usual_us: float, times: float = 1.0) -> int:
        return ns(usual_us * times if asked_us is None else asked_us)

    def held(asked_us: float | None, usual_us: float) -> int:
        return ns((usual_us if asked_us is None else asked_us) * times)

    return Cpu(
        statement_ns=ours(cpu.statement_us, measured.statement.value, times),
        touch_ns=ours(cpu.page_us, 0.0),
        read_ns=ours(cpu.read_us, measured.page_read.value, times),
        write_ns=ours(cpu.write_us, measured.page_written.value, times),
        mutex_ns=held(cpu.mutex_us, machine.mutex_us),
        read_mutex_ns=held(cpu.read_mutex_us, machine.read_mutex_us),
        round_trip_ns=ours(cpu.round_trip_us, machine.round_trip_us),
        fsync_ns=ours(cpu.fsync_us, machine.fsync_us),
        sync_page_ns=ours(cpu.sync_page_us, machine.sync_page_us),
        request_ns=ours(cpu.request_us, 0.0),
    )


def server_cpu(
    *,
    statement_us: float,
    page_read_us: float,
    page_written_us: float,
    round_trip_us: float = 0,
    request_us: float = 0,
) -> Cpu:
    """The measured costs of a server: those of a statement include the pages that it uses and its mutexes."""
    cpu = Cpu(ns(statement_us), 0, ns(page_read_us), ns(page_written_us))
    return replace(cpu, round_trip_ns=ns(round_trip_us), request_ns=ns(request_us))


def storage_use(cell: Experiment) -> Use:
    """How a modelled server uses the storage."""
    return cell.modelled.use(asynchronous=True, align_bytes=_align_bytes(innodb_of(cell)))


def other_use(cell: Experiment, holding: Holding) -> Use:
    """How a separate device is used. Logs are written in order; tables are in the state after long use."""
    return Use(
        asynchronous=True,
        align_bytes=_align_bytes(innodb_of(cell), "log" in holding.parts),
        initial="preconditioned" if holding.tables else "fresh",
        scale=cell.modelled.capacity_scale,
    )


def _other(cell: Experiment, database: InnodbModel, name: str, holding: Holding) -> Other:
    return Other(
        name=holding.name,
        device=write_device(load_device(name, {}), other_use(cell, holding)),
        holds=(*holding.parts, *(Table(table) for table in holding.tables)),
    )


def placed_use(cell: Experiment, name: str, holding: Holding) -> Use:
    """How one of `database.storages` is used: as a separate device, where the storage says nothing else."""
    database = innodb_of(cell)
    storage = database.storages[name]
    if not isinstance(storage, ModelledStorage):
        raise TypeError(f"the storage {name} is {storage.kind}, not modelled")
    use = storage.use(asynchronous=True, align_bytes=_align_bytes(database, "log" in holding.parts))
    return use if "initial" in storage.model_fields_set else replace(use, initial=other_use(cell, holding).initial)


def placed_device(cell: Experiment, name: str) -> ModelledDevice:
    """The device of one of `database.storages`."""
    storage = innodb_of(cell).storages[name]
    if not isinstance(storage, ModelledStorage):
        raise TypeError(f"the storage {name} is {storage.kind}, not modelled")
    return storage.modelled_device


def _placed(cell: Experiment, name: str, holding: Holding, *, fresh: bool) -> Other:
    cache, use = cell.cache_before(name), placed_use(cell, name, holding)
    align = use.align_bytes if cache is None else math.gcd(use.align_bytes, cache.block_size)
    device = write_device(placed_device(cell, name), replace(use, align_bytes=align))
    return Other(
        name=name,
        device=device if cache is None else write_cached(cache, device, align_bytes=use.align_bytes, fresh=fresh),
        holds=(*holding.parts, *(Table(table) for table in holding.tables)),
    )


def _align_bytes(database: InnodbModel, has_log: bool | None = None) -> int:
    if has_log is None:
        has_log = not database.log_is_apart
    return DIRECT_ALIGN_BYTES if has_log and database.log_is_direct else ALIGN_BYTES
