"""Machines for modelled servers: the number and the speed of their cores, in files that experiments share."""

from __future__ import annotations

from pydantic import Field, model_validator

from flatwater.experiment.problem import Table
from flatwater.experiment.shipped import Shipped
from flatwater.experiment.units import Size

#: More than any machine of a published run has.
MAX_CORES = 1024


class Machine(Table):
    """One file of `machines/`."""

    title: str
    cores: int = Field(ge=1, le=MAX_CORES)
    #: Hardware threads of all cores together. Default: the number of cores.
    threads: int | None = Field(default=None, ge=1, le=16 * MAX_CORES)
    #: How many times what a thread does alone all threads do at once, where the threads of a core do more together
    #: than one; as many as cores if absent.
    threads_worth: int | None = Field(default=None, ge=1, le=16 * MAX_CORES)
    #: Its memory; a server's `database.memory` is said in place of it. Absent: not told.
    memory: Size | None = None
    #: The slowness of a core: the ratio of its times to those of the core that the workloads were measured on.
    cpu_scale: float = Field(default=1.0, gt=0, le=1e3)
    #: What a statement holds of the mutexes that all threads of a server share, on the core on which the workloads were
    #: measured: it takes `cpu_scale` times as long here.
    mutex_us: float = Field(default=0.0, ge=0, le=1e6)
    #: The same for the read of a page.
    read_mutex_us: float = Field(default=0.0, ge=0, le=1e6)
    #: Time between the answer to a statement and the next statement: network and client.
    round_trip_us: float = Field(default=0.0, ge=0, le=1e6)
    #: The kernel's time for the sync of a file.
    fsync_us: float = Field(default=0.0, ge=0, le=1e6)
    #: What the sync of a data file takes besides for each page that was written since the last one. The file system
    #: commits its journal behind the data, and whoever writes the log through the kernel's cache waits for that.
    sync_page_us: float = Field(default=0.0, ge=0, le=1e6)
    #: Figure -> its source.
    sources: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _threads_are_of_cores(self) -> Machine:
        if self.threads is not None and self.threads < self.cores:
            raise ValueError(f"threads must be at least as many as cores ({self.cores}), not {self.threads}")
        if self.threads_worth is not None and not self.cores <= self.threads_worth <= (self.threads or self.cores):
            most = self.threads or self.cores
            what = f"threads_worth must be from cores to threads ({self.cores} to {most}), not {self.threads_worth}"
            raise ValueError(what)
        return self

    @property
    def processors(self) -> int:
        """The number of processors that its kernel counts: hardware threads."""
        return self.threads or self.cores

    @property
    def at_once(self) -> int:
        """The number of threads that run in parallel at the speed of a single one."""
        return self.threads_worth or self.cores


_MACHINES = Shipped(Machine, "machines", "machine", "database.machine", "machines/dell-r900.toml is one to copy")
#: Name -> file of every machine that comes with flatwater.
machine_files = _MACHINES.files
#: The machine of a name or a file's path. Errors: UserError, with the nearest name as its hint.
load_machine = _MACHINES.load
