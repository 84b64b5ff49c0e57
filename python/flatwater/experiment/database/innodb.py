"""A modelled InnoDB: a generation of servers, its settings, and the machine that it runs on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field

from flatwater.errors import UserError
from flatwater.experiment.database.innodb_computed import Host
from flatwater.experiment.database.innodb_others import has_no_effect
from flatwater.experiment.database.innodb_settings import (
    InnodbSettings,
    contradictions,
    has,
    is_done_anyway,
    own_name,
    read_model_settings,
    resolve,
    server_settings,
)
from flatwater.experiment.database.innodb_values import Value
from flatwater.experiment.database.lineage import GENERATIONS, Generation, engine_generation
from flatwater.experiment.database.machine import MAX_CORES, Machine, load_machine
from flatwater.experiment.database.measured import MeasuredWorkload, default_workload, load_workload
from flatwater.experiment.database.placed import PlacedLayer
from flatwater.experiment.database.placement import (
    PARTS,
    DeviceName,
    Holding,
    OwnFiles,
    Part,
    device_problems,
    held,
    own_files,
    placed,
    placed_problems,
)
from flatwater.experiment.database.settings import Setting
from flatwater.experiment.problem import Problem, Table, quote, refuse
from flatwater.experiment.units import Size, print_size
from flatwater.experiment.workload.transactions import Transactions
from flatwater.spelling import nearest

#: A built-in flushing policy, as the engine spells it and servers do.
Policy = Literal[
    "none",
    "reflex",
    "estimate",
    "keep_average",
    "native",
    "mysql-5.6",
    "mysql-5.7",
    "mysql-8.0.11",
    "mysql-8.0",
    "mariadb-10.11",
]
#: What a file writes for each: the same word, with hyphens.
POLICIES: dict[str, Policy] = {policy.replace("_", "-"): policy for policy in get_args(Policy)}
#: Cores of a server whose machine is not told.
CORES = 16
MAX_SERVERS = 64
#: What a server's pool has at least (MySQL's manual); pools are shared out in whole MiB.
_POOL_MIB_MIN = 5


def _is_workload(written: str) -> str:
    try:
        load_workload(written)
    except UserError as error:
        raise refuse(error.what, error.hint) from None
    return written


def _is_machine(written: str) -> str:
    try:
        load_machine(written)
    except UserError as error:
        raise refuse(error.what, error.hint) from None
    return written


class Cpu(Table):
    """What a server's work costs of one core, in microseconds; what is absent was measured (`database.workload`)."""

    #: A statement: network, parser, locks; as it was measured, with the pages that it uses.
    statement_us: float | None = Field(default=None, ge=0, le=1e6)
    #: A page that a statement uses.
    page_us: float | None = Field(default=None, ge=0, le=1e6)
    #: A page that is read: its checksum and its way through the kernel.
    read_us: float | None = Field(default=None, ge=0, le=1e6)
    #: A page that is written.
    write_us: float | None = Field(default=None, ge=0, le=1e6)
    #: What a statement holds of the mutexes that all threads of the server share, one after another.
    mutex_us: float | None = Field(default=None, ge=0, le=1e6)
    #: What the read of a page holds of them.
    read_mutex_us: float | None = Field(default=None, ge=0, le=1e6)
    #: Between a statement's answer and the next statement: the network's and the client's part of a round trip.
    round_trip_us: float | None = Field(default=None, ge=0, le=1e6)
    #: The kernel's part of the sync of a data file; and what it takes for each page written since the last one.
    fsync_us: float | None = Field(default=None, ge=0, le=1e6)
    sync_page_us: float | None = Field(default=None, ge=0, le=1e6)
    #: What each read and write of the storage takes of the cores beside the server's work, which does not wait for it:
    #: a program on the same machine that emulates the device.
    request_us: float | None = Field(default=None, ge=0, le=1e6)
    #: Measured costs are multiplied by this: an older machine's core is slower than the measured one's. The machine's
    #: `cpu_scale` if absent, and 1 without a machine.
    times: float | None = Field(default=None, gt=0, le=1e3)


class InnodbModel(PlacedLayer):
    """InnoDB in virtual time, on modelled storage."""

    LAYER: ClassVar[str] = "database"
    REALITY: ClassVar[Literal["real", "modelled", "none"]] = "modelled"

    kind: Literal["innodb-model"] = "innodb-model"
    #: Whose defaults and habits.
    generation: Generation = "percona-5.5"
    #: Servers side by side on the machine. Connections, the workload's data and innodb_buffer_pool_size are shared out
    #: among them; each has the other settings, its own logs and its own mutexes.
    servers: int = Field(default=1, ge=1, le=MAX_SERVERS)
    #: The settings by the servers' own names; what is not there is the generation's default.
    settings: Annotated[dict[str, Setting], BeforeValidator(read_model_settings)] = Field(default_factory=dict)
    #: A flushing policy in place of the generation's own: another server's by name, or `path/policy.py:ClassName`.
    flushing: Annotated[str, Field(min_length=1)] | None = None
    #: The server's machine: a name of `machines/`, or a file's path.
    machine: Annotated[str, AfterValidator(_is_machine)] | None = None
    #: Cores of the server's machine; the machine's own if absent, and 16 without one.
    cores: int | None = Field(default=None, ge=1, le=MAX_CORES)
    cpu: Cpu = Cpu()
    #: What transactions cost: a name of `workloads/`, or a file of `flatwater fit workload`; the
    #: generation's own if absent.
    workload: Annotated[str, AfterValidator(_is_workload)] | None = None
    #: Begin as after a long run: the pool is full, and a cache with `warm` has seen what it has.
    warm: bool = True
    #: Memory of the machine: what the pool leaves is the kernel's, for pages of the log. The machine's own if absent;
    #: without one, there is room for all of them.
    memory: Size | None = None
    #: Devices of their own, of `devices/`: what is absent, or "none", is on the storage. Parts may share one.
    log_device: DeviceName = None
    doublewrite_device: DeviceName = None
    binlog_device: DeviceName = None
    #: Tables, each with its indexes, that have another device than the storage.
    tables: dict[str, DeviceName] = Field(default_factory=dict)

    @property
    def resolved(self) -> InnodbSettings:
        """Every setting of the model, the generation's defaults filled in; sizes are bytes."""
        return resolve(self.generation, self.settings, self.host)

    @property
    def server_settings(self) -> dict[str, Value]:
        """Every setting that is known here, also those without effect, as the servers have it on their machine."""
        return server_settings(self.generation, self.settings, self.host)

    @property
    def host(self) -> Host:
        """What the servers find on their machine when they start."""
        return Host(self.hardware.processors, self.memory or self.hardware.memory)

    @property
    def hardware(self) -> Machine:
        """The machine, with what the experiment says of its own in place of the machine's figures."""
        machine = load_machine(self.machine) if self.machine is not None else Machine(title="", cores=CORES)
        own = {"cores": self.cores, "threads": None, "threads_worth": None} if self.cores is not None else {}
        scale = {} if self.cpu.times is None else {"cpu_scale": self.cpu.times}
        return machine.model_copy(update=own | scale)

    @property
    def log_is_direct(self) -> bool:
        """Whether the log is written past the kernel's page cache, in blocks that may be smaller than its pages."""
        if engine_generation(self.generation) == "mariadb-10.11":
            return not self.resolved.innodb_log_file_buffering
        return self.resolved.innodb_flush_method == "ALL_O_DIRECT"

    @property
    def page_cache_bytes(self) -> int | None:
        """Memory that the kernel has for pages of the log; None: for all of them."""
        memory = self.host.memory_bytes
        if memory is None:
            return None
        return max(memory - self.resolved.innodb_buffer_pool_size, 0)

    @property
    def other_devices(self) -> dict[str, Holding]:
        """Device -> what is on it; parts and tables that are on the storage are left out."""
        return held(self._parts, self.tables)

    @property
    def placed_storages(self) -> dict[str, Holding]:
        """Storage of `storages` -> what `placement` puts on it."""
        return placed(self, self.own_files)

    @property
    def own_files(self) -> OwnFiles:
        """What the servers have in files of their own."""
        undo_tablespaces = self.server_settings.get("innodb_undo_tablespaces")
        return own_files(self.generation, float(undo_tablespaces) if undo_tablespaces is not None else None)

    @property
    def log_is_apart(self) -> bool:
        """Whether the redo log is on another storage than the data."""
        return self.log_device is not None or self.placement.redo_log is not None

    @property
    def _parts(self) -> dict[Part, str | None]:
        return dict(zip(PARTS, (self.log_device, self.doublewrite_device, self.binlog_device), strict=True))

    def measured(self, kind: str) -> MeasuredWorkload:
        """What transactions of this kind of workload cost."""
        if self.workload is not None:
            return load_workload(self.workload)
        return default_workload(kind, self.generation)

    @property
    def built_in_policy(self) -> Policy | None:
        """The built-in flushing policy in place of the generation's; None: the generation's, or one of the user's."""
        return POLICIES.get(self.flushing or "")

    @property
    def own_policy(self) -> str | None:
        """The user's flushing policy, `path/policy.py:ClassName`; None: one of the built-in ones."""
        return None if self.flushing in POLICIES else self.flushing

    @property
    def ignored(self) -> list[str]:
        """Settings that are written, that servers have, and that change nothing in the model."""
        # Where parts are placed, it says what goes along with the system tablespace.
        heeded = {"innodb_undo_tablespaces"} if self.placement.items else set()
        ignored = [name for name in self.settings if has_no_effect(self.generation, name) and name not in heeded]
        method = str(self.settings.get("innodb_flush_method", "O_DIRECT")).upper()
        return ignored if method in ("O_DIRECT", "ALL_O_DIRECT") else [*ignored, "innodb_flush_method"]

    def conflicts(self) -> Iterator[Problem]:
        """Settings that the generation's servers do not have."""
        for name, value in self.settings.items():
            if has(self.generation, own_name(self.generation, name)):
                continue
            if not is_done_anyway(self.generation, name, value):
                having = [generation for generation in GENERATIONS if has(generation, name)]
                what = f"is no setting of {self.generation}"
                hint = f'generation = "{having[0]}"' if having else None
                about = (f"database.settings.{name}", "database.generation")
                yield Problem(f"settings.{name}", what, hint, about)
        yield from contradictions(self.resolved, self.settings)
        yield from self._dedicated_conflicts()
        if self.resolved.innodb_flush_method == "ALL_O_DIRECT" and not self.generation.startswith("percona"):
            about = ("database.settings.innodb_flush_method", "database.generation")
            what = f"ALL_O_DIRECT is not known to {self.generation}"
            yield Problem("settings.innodb_flush_method", what, 'generation = "percona-5.5"', about)
        yield from device_problems(self._parts, self.tables)
        yield from self.placed_conflicts()
        fields = {f"{part}_device": device for part, device in self._parts.items()}
        fields |= {f"tables.{table}": device for table, device in self.tables.items()}
        per_table = self.resolved.innodb_file_per_table
        yield from placed_problems(self.generation, self.placement, self.own_files, fields, file_per_table=per_table)
        if self.own_policy is not None:
            path, colon, name = self.own_policy.rpartition(":")
            if not colon or not path.endswith(".py") or not name.isidentifier():
                close = nearest(self.own_policy, list(POLICIES))
                hint = f"did you mean {close}?" if close else f"{', '.join(POLICIES)}, or path/policy.py:ClassName"
                yield Problem("flushing", f"there is no policy {quote(self.own_policy)}", hint, ("database.flushing",))

    def _dedicated_conflicts(self) -> Iterator[Problem]:
        """What keeps a server from computing its sizes from the memory of its machine."""
        name = "innodb_dedicated_server"
        if not (has(self.generation, name) and self.server_settings[name]):
            return
        field, about = f"settings.{name}", f"database.settings.{name}"
        if self.servers > 1:
            yield Problem(field, "is for one server on its machine", "servers = 1", (about, "database.servers"))
        if self.host.memory_bytes is None:
            what, hint = "computes sizes from the machine's memory, which is not told", 'memory = "64G"'
            yield Problem(field, what, hint, (about, "database.memory", "database.machine"))

    def workload_conflicts(self, workload: Transactions) -> Iterator[Problem]:
        """What is asked of the workload and cannot be done in the model."""
        if self.workload is not None and (of := load_workload(self.workload).workload) != workload.kind:
            what = f"is of {of}, and the workload is {workload.kind}"
            rests_on = ("workload.kind", "database.workload", "database.kind")
            yield Problem("database.workload", what, "take it out", rests_on)
        yield from self._shares(workload)
        refused = (
            ("rate_per_s", bool(workload.rate_per_s), "clients are a closed loop", "rate_per_s = 0"),
            ("reconnect_every", bool(workload.reconnect_every), "clients stay connected", "reconnect_every = 0"),
            ("secondary", getattr(workload, "secondary", False), "tables have a primary key", "take it out"),
            ("mode", getattr(workload, "mode", "") == "insert", "tables do not grow by inserts", "another mode"),
        )
        for name, is_set, why, hint in refused:
            if is_set:
                about = (f"workload.{name}", "database.kind")
                yield Problem(f"workload.{name}", f"is not modelled: {why}", hint, about)

    def _shares(self, workload: Transactions) -> Iterator[Problem]:
        """What cannot be shared out among the servers."""
        if self.servers == 1:
            return
        data = "warehouses" if workload.kind == "tpcc" else "tables"
        for name in ("connections", data):
            if (all_of_it := getattr(workload, name)) % self.servers:
                what = f"{all_of_it} cannot be shared out evenly among {self.servers} servers"
                rests_on = (f"workload.{name}", "database.servers", "workload.kind", "database.kind")
                yield Problem(f"workload.{name}", what, f"a multiple of {self.servers}", rests_on)
        pool = self.resolved.innodb_buffer_pool_size
        if pool // self.servers < _POOL_MIB_MIN << 20:
            what = f"{print_size(pool)} for {self.servers} servers leave each less than {_POOL_MIB_MIN} MiB"
            fields = ("database.settings.innodb_buffer_pool_size", "database.servers")
            yield Problem("database.settings.innodb_buffer_pool_size", what, "a larger pool, or fewer servers", fields)
