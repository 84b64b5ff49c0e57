"""What one cell's result says, as far as a diagnosis or an advice can rest on it.

`Evidence` is a value: `gather.read_evidence` makes it from a result folder, and nothing changes it. Its lines hold the
measured phase only, as the verdict does. A quantity that the run did not record is None, and whatever needs it must
stay silent.

Units are in the names. Shares of a processor are in percent of one core (100 = one core), except those of the whole
machine, which begin with `cpu_` or `pressure_` (100 = the whole machine).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Literal, get_origin, get_type_hints

from flatwater.analysis.bound.device import Device, OwnDevice
from flatwater.analysis.bound.line import Line, Values
from flatwater.analysis.bound.redo import RedoLimits
from flatwater.experiment import Experiment
from flatwater.experiment.database.placement import OwnFiles, own_files
from flatwater.results.facts import MachineFacts
from flatwater.results.health import CellHealth
from flatwater.results.observation import Gap
from flatwater.results.schema import Dip, Event, LatencyUs, Stall, Verdict

Reality = Literal["real", "modelled", "none"]

#: Bytes of a page where the server does not say otherwise.
PAGE_BYTES = 16384


@cache
def metrics_of(group: type) -> dict[str, tuple[str, ...]]:
    """Field -> the metrics of the group's layer that it is read from: the first of them that was recorded."""
    hints = get_type_hints(group, include_extras=True)
    return {name: hint.__metadata__ for name, hint in hints.items() if get_origin(hint) is Annotated}


@dataclass(frozen=True)
class Layers:
    """Which layers were real and which modelled."""

    workload: Reality
    database: Reality
    cache: Reality
    storage: Reality
    #: The storage in a few words.
    device: str = ""

    @property
    def virtual(self) -> bool:
        """Whether time was modelled too: nothing of this machine was measured then."""
        return self.workload == "modelled"

    @property
    def emulated(self) -> bool:
        """Whether a modelled device served a real workload."""
        return self.storage == "modelled" and not self.virtual


@dataclass(frozen=True)
class LoadHostUse:
    """A host that made a part of the load, and how busy it was."""

    host: str
    cores: int | None
    #: Of its load generator, percent of one core.
    client_pct: Line | None
    #: Of the machine: share of its processors' time in which they had nothing to do.
    idle_pct: Line | None


@dataclass(frozen=True)
class Load:
    """What was asked and what was done. Layer `workload`."""

    kind: str
    unit: str
    #: Connections of a database's workload; requests that fileio keeps in flight. None if it was not told.
    concurrency: int | None
    #: Requests or transactions a second that were asked for; None for a closed loop.
    rate_per_s: float | None
    #: How long a connection waits for each transaction (keying, thinking) on average, seconds; 0: it is always busy.
    pause_s: float
    #: Share of fileio's requests that read, 0 to 1; None of a database's workload.
    read_fraction: float | None
    #: Of the whole measured phase, by kind of request; `all` is all of them.
    latency_us: Mapping[str, LatencyUs]
    #: Processor time of the load generator for a request or transaction.
    client_cpu_us_per_op: float | None
    throughput: Annotated[Line | None, "throughput"] = None
    ops_per_s: Annotated[Line | None, "ops_per_s"] = None
    in_flight: Annotated[Line | None, "in_flight"] = None
    oldest_us: Annotated[Line | None, "oldest_in_flight_us"] = None
    latency_p50_us: Annotated[Line | None, "latency_p50_us"] = None
    latency_p99_us: Annotated[Line | None, "latency_p99_us"] = None
    #: Of the load generator, percent of one core.
    client_user_pct: Annotated[Line | None, "client_cpu_user_pct"] = None
    client_system_pct: Annotated[Line | None, "client_cpu_system_pct"] = None
    #: Threads of the load generator that could run and waited for a processor: 100 = one thread all the time.
    client_wait_pct: Annotated[Line | None, "client_cpu_wait_pct"] = None
    queries_per_s: Annotated[Line | None, "queries_per_s"] = None
    #: Time that sessions of a real load waited for the answers to their commits; 1e6 is one session all the time.
    commit_us_per_s: Annotated[Line | None, "commit_us_per_s"] = None
    #: The hosts that made the load; empty if it was the machine that ran the experiment.
    hosts: tuple[LoadHostUse, ...] = ()
    #: Of TPC-C, the program whose statements these are; empty of other workloads.
    variant: str = ""
    #: Of an observed server: commits that change something, at most.
    commits_per_s: Annotated[Line | None, "commits_per_s"] = None
    new_order_per_s: Annotated[Line | None, "new_order_ops_per_s"] = None
    read_ops_per_s: Annotated[Line | None, "read_ops_per_s"] = None
    write_ops_per_s: Annotated[Line | None, "write_ops_per_s"] = None
    fsync_ops_per_s: Annotated[Line | None, "fsync_ops_per_s"] = None
    read_bytes_per_s: Annotated[Line | None, "read_bytes_per_s"] = None
    write_bytes_per_s: Annotated[Line | None, "write_bytes_per_s"] = None
    errors_per_s: Annotated[Line | None, "errors_per_s"] = None
    conflicts_per_s: Annotated[Line | None, "conflicts_per_s"] = None
    deadlocks_per_s: Annotated[Line | None, "deadlocks_per_s"] = None


@dataclass(frozen=True)
class Machine:
    """The machine on which the workload and the server ran. Layer `machine`; a modelled machine has only `cores`."""

    #: Threads that run at once: of the modelled machine, where the server is modelled.
    cores: int | None
    memory_bytes: int | None
    #: `machine.json`, as it was recorded.
    facts: MachineFacts
    cpu_user_pct: Annotated[Line | None, "cpu_user_pct"] = None
    cpu_system_pct: Annotated[Line | None, "cpu_system_pct"] = None
    cpu_idle_pct: Annotated[Line | None, "cpu_idle_pct"] = None
    cpu_iowait_pct: Annotated[Line | None, "cpu_iowait_pct"] = None
    cpu_steal_pct: Annotated[Line | None, "cpu_steal_pct"] = None
    #: All processes but the load generator, the server under test included; percent of one core.
    others_pct: Annotated[Line | None, "others_cpu_pct"] = None
    #: The programs that flatwater started: servers, served devices, caches; percent of one core.
    children_pct: Annotated[Line | None, "children_cpu_pct"] = None
    #: Share of the time in which some task waited for the resource (PSI).
    pressure_cpu_pct: Annotated[Line | None, "pressure_cpu_some_pct"] = None
    pressure_io_pct: Annotated[Line | None, "pressure_io_some_pct"] = None
    pressure_memory_pct: Annotated[Line | None, "pressure_memory_some_pct"] = None
    memory_available_bytes: Annotated[Line | None, "memory_available_bytes"] = None
    memory_dirty_bytes: Annotated[Line | None, "memory_dirty_bytes"] = None
    swap_read_bytes_per_s: Annotated[Line | None, "swap_read_bytes_per_s"] = None
    swap_written_bytes_per_s: Annotated[Line | None, "swap_written_bytes_per_s"] = None


@dataclass(frozen=True)
class Variables:
    """A server's settings under its own names, as text: those that it had, or the model's with their defaults."""

    text: Mapping[str, str]

    def number(self, name: str) -> float | None:
        """A setting as a number; None if the server has no such setting, or it is no number."""
        try:
            return float(self.text[name])
        except (KeyError, ValueError):
            return None

    def on(self, name: str) -> bool | None:
        """A switch; None if the server has no such setting, or it is no switch."""
        word = self.text.get(name, "").strip().lower()
        return True if word in ("on", "1", "yes", "true") else False if word in ("off", "0", "no", "false") else None


@dataclass(frozen=True)
class Database:
    """The database server, or several of them together. Layer `database`."""

    flavour: str
    #: As the server printed it; empty of a model.
    version: str
    #: Its version as numbers, (10, 11, 6); of a model those of its generation.
    release: tuple[int, ...]
    #: The modelled generation whose limits and habits it has, such as `mysql-5.7`.
    generation: str
    servers: int
    #: Of the first server; of modelled servers the settings of the experiment, with the memory of all pools.
    variables: Variables
    #: Of each of several servers, in their order, each with its own pool; empty where there is one.
    each: tuple[Variables, ...] = ()
    #: None where the server did not tell the largest age that it allows.
    redo: RedoLimits | None = None
    #: How often an event was counted over the measured phase: deadlocks, lock_timeouts, conflicts, ...
    counters: Mapping[str, int] = field(default_factory=dict)
    checkpoint_age_bytes: Annotated[Line | None, "checkpoint_age_bytes"] = None
    checkpoint_age_max_bytes: Annotated[Line | None, "checkpoint_age_max_bytes"] = None
    #: Distance to the oldest change that is in no file; only the model tells it apart from the checkpoint's age.
    modified_age_bytes: Annotated[Line | None, "modified_age_bytes"] = None
    dirty_pct: Annotated[Line | None, "dirty_pct"] = None
    dirty_pages: Annotated[Line | None, "dirty_pages"] = None
    free_pages: Annotated[Line | None, "pages_free"] = None
    data_pages: Annotated[Line | None, "pages_data"] = None
    hit_ratio: Annotated[Line | None, "hit_ratio"] = None
    read_requests_per_s: Annotated[Line | None, "read_requests_per_s"] = None
    #: Pages read, those that were read ahead included.
    pages_read_per_s: Annotated[Line | None, "pages_read_per_s"] = None
    pages_read_ahead_per_s: Annotated[Line | None, "pages_read_ahead_per_s"] = None
    pages_flushed_per_s: Annotated[Line | None, "pages_flushed_per_s"] = None
    #: Why pages were flushed: by the policy, at the log's limit, to free frames, while nothing else was to do.
    flushed_adaptive_per_s: Annotated[Line | None, "pages_flushed_adaptive_per_s"] = None
    flushed_sync_per_s: Annotated[Line | None, "pages_flushed_sync_per_s"] = None
    flushed_lru_per_s: Annotated[Line | None, "pages_flushed_lru_per_s"] = None
    flushed_background_per_s: Annotated[Line | None, "pages_flushed_background_per_s"] = None
    free_page_waits_per_s: Annotated[Line | None, "free_page_waits_per_s"] = None
    #: Waits for room in the log *buffer*, which is in memory.
    log_buffer_waits_per_s: Annotated[Line | None, "log_waits_per_s"] = None
    #: Redo by LSN.
    redo_bytes_per_s: Annotated[Line | None, "log_bytes_per_s"] = None
    log_writes_per_s: Annotated[Line | None, "log_writes_per_s"] = None
    log_fsyncs_per_s: Annotated[Line | None, "log_fsyncs_per_s"] = None
    binlog_fsyncs_per_s: Annotated[Line | None, "binlog_fsyncs_per_s"] = None
    #: Groups of commits that were written to the binary log; only MariaDB counts them.
    binlog_groups_per_s: Annotated[Line | None, "binlog_groups_per_s"] = None
    #: A read of a log page that is needed before a part of it can be written.
    log_page_reads_per_s: Annotated[Line | None, "log_page_reads_per_s"] = None
    data_fsyncs_per_s: Annotated[Line | None, "data_fsyncs_per_s"] = None
    data_read_bytes_per_s: Annotated[Line | None, "data_read_bytes_per_s"] = None
    data_written_bytes_per_s: Annotated[Line | None, "data_written_bytes_per_s"] = None
    doublewrite_pages_per_s: Annotated[Line | None, "doublewrite_pages_per_s"] = None
    row_lock_waits_per_s: Annotated[Line | None, "row_lock_waits_per_s"] = None
    #: 100 = one connection that waits for row locks all the time.
    row_lock_pct: Annotated[Line | None, "row_lock_time_pct"] = None
    history_length: Annotated[Line | None, "history_length"] = None
    threads_running: Annotated[Line | None, "threads_running"] = None
    threads_connected: Annotated[Line | None, "threads_connected"] = None
    #: Processor time of the servers, percent of one core.
    cpu_user_pct: Annotated[Line | None, "server_cpu_user_pct"] = None
    cpu_system_pct: Annotated[Line | None, "server_cpu_system_pct"] = None
    #: Threads of the servers that could run and waited for a processor: 100 = one thread all the time.
    cpu_wait_pct: Annotated[Line | None, "server_cpu_wait_pct"] = None
    #: Of sampled threads, the mean number: sessions in the read of a file, in a sync, waiting for another thread (a
    #: lock, a commit of the group, a free page), and all threads of the server in a sync.
    sessions_reading: Annotated[Line | None, "sessions_reading"] = None
    sessions_syncing: Annotated[Line | None, "sessions_syncing"] = None
    sessions_waiting: Annotated[Line | None, "sessions_waiting"] = None
    threads_syncing: Annotated[Line | None, "threads_syncing"] = None
    #: Of a model, the mean number of sessions in every other place.
    sessions_running: Annotated[Line | None, "sessions_running"] = None
    sessions_in_cpu_queue: Annotated[Line | None, "sessions_in_cpu_queue"] = None
    sessions_in_mutexes: Annotated[Line | None, "sessions_in_mutexes"] = None
    sessions_away: Annotated[Line | None, "sessions_away"] = None
    sessions_in_page_latches: Annotated[Line | None, "sessions_in_page_latches"] = None
    sessions_in_row_locks: Annotated[Line | None, "sessions_in_row_locks"] = None
    sessions_committing: Annotated[Line | None, "sessions_committing"] = None
    sessions_in_free_page_waits: Annotated[Line | None, "sessions_in_free_page_waits"] = None
    sessions_in_log_buffer_waits: Annotated[Line | None, "sessions_in_log_buffer_waits"] = None
    sessions_in_log_room_waits: Annotated[Line | None, "sessions_in_log_room_waits"] = None
    rss_bytes: Annotated[Line | None, "server_rss_bytes"] = None

    @property
    def own_files(self) -> OwnFiles:
        """What it has in files of its own."""
        return own_files(self.generation, self.variables.number("innodb_undo_tablespaces"))

    @property
    def named(self) -> Mapping[str, Variables]:
        """The variables of every server, by its name: `server 0`, or `the server` where there is one."""
        if not self.each:
            return {"the server": self.variables}
        return {f"server {number}": one for number, one in enumerate(self.each)}

    @property
    def pool_bytes(self) -> float | None:
        """The buffer pools of all servers together; None if one of them is unknown."""
        pools = [one.number("innodb_buffer_pool_size") for one in self.named.values()]
        return None if None in pools else sum(pool for pool in pools if pool is not None)


@dataclass(frozen=True)
class Cache:
    """The flash cache. Layer `cache`."""

    mode: str
    hit_ratio: Annotated[Line | None, "hit_ratio"] = None
    read_hit_ratio: Annotated[Line | None, "read_hit_ratio"] = None
    write_hit_ratio: Annotated[Line | None, "write_hit_ratio"] = None
    #: Dirty blocks, percent of the cache, and the marks at which write-back begins and is at full rate.
    dirty_pct: Annotated[Line | None, "dirty_pct"] = None
    dirty_high_pct: Annotated[Line | None, "dirty_high_pct"] = None
    dirty_low_pct: Annotated[Line | None, "dirty_low_pct"] = None
    used_pct: Annotated[Line | None, "used_pct"] = None
    #: IOs that did not use the cache.
    uncached_per_s: Annotated[Line | None, "uncached_per_s"] = None
    fills_per_s: Annotated[Line | None, "fills_per_s"] = None
    evictions_per_s: Annotated[Line | None, "evictions_per_s"] = None
    write_backs_per_s: Annotated[Line | None, "write_backs_per_s"] = None
    write_back_bytes_per_s: Annotated[Line | None, "write_back_bytes_per_s"] = None
    #: Writes that found no slot to be written to.
    starved_per_s: Annotated[Line | None, "starved_per_s"] = None
    in_flight: Annotated[Line | None, "in_flight"] = None
    #: Its own device.
    fast: Device | None = None


@dataclass(frozen=True)
class Evidence:
    """All of it, of one cell."""

    cell: int
    #: The cell's experiment; None of a result that another tool measured.
    experiment: Experiment | None
    layers: Layers
    #: Ends of the measured intervals, seconds of the cell's time. Every line has one value for each.
    time_s: Values
    interval_s: float
    load: Load
    machine: Machine
    device: Device | None
    database: Database | None
    cache: Cache | None
    verdict: Verdict | None
    #: Of a modelled server: the devices of its parts that are not on the storage.
    own_devices: tuple[OwnDevice, ...] = ()
    dips: tuple[Dip, ...] = ()
    dip_period_s: float | None = None
    stalls: tuple[Stall, ...] = ()
    events: tuple[Event, ...] = ()
    #: Of the drives below, their controllers and arrays; None of a result of before it was recorded.
    health: CellHealth | None = None
    #: What could not be recorded, and why.
    gaps: tuple[Gap, ...] = ()

    @property
    def samples(self) -> int:
        """Measured intervals."""
        return len(self.time_s)
