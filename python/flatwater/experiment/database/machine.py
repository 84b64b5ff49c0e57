"""Machines that modelled servers stand on: their cores, and how slow these are, in files shared by experiments."""

from __future__ import annotations

import tomllib
from functools import lru_cache
from pathlib import Path

from pydantic import Field, ValidationError, model_validator

from flatwater.errors import UserError
from flatwater.experiment.problem import Table, explain_error, quote, suggest

#: More than any machine that a published run was on.
MAX_CORES = 1024


class Machine(Table):
    """One file of `machines/`."""

    title: str
    cores: int = Field(ge=1, le=MAX_CORES)
    #: Hardware threads of all cores together; as many as cores if absent.
    threads: int | None = Field(default=None, ge=1, le=16 * MAX_CORES)
    #: How many times what a thread does alone all threads do at once, where the threads of a core do more together
    #: than one; as many as cores if absent.
    threads_worth: int | None = Field(default=None, ge=1, le=16 * MAX_CORES)
    #: How many times longer a core takes than the one on which the workloads were measured.
    cpu_scale: float = Field(default=1.0, gt=0, le=1e3)
    #: What a statement holds of the mutexes that all threads of a server share, on the core on which the workloads were
    #: measured: it takes `cpu_scale` times as long here.
    mutex_us: float = Field(default=0.0, ge=0, le=1e6)
    #: The kernel's part of the sync of a file.
    fsync_us: float = Field(default=0.0, ge=0, le=1e6)
    #: Figure -> where it comes from.
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
    def at_once(self) -> int:
        """Threads that run at once at the speed that one of them has alone."""
        return self.threads_worth or self.cores


def machines_dir() -> Path:
    """Where the machines are: `machines/` of the package, to which the source tree's `machines` leads too."""
    return Path(__file__).parents[2] / "machines"


def machine_files() -> dict[str, Path]:
    """Name -> file of every machine that comes with flatwater, by name."""
    return {path.stem: path for path in sorted(machines_dir().glob("*.toml"))}


def load_machine(written: str) -> Machine:
    """The machine of a name or a file's path. Errors: UserError, with the nearest name as its hint."""
    files = machine_files()
    path = Path(written).expanduser() if "/" in written or written.endswith(".toml") else files.get(written)
    if path is None:
        what = f"there is no machine {quote(written)}"
        raise UserError(what, where="database.machine", hint=suggest(written, list(files)))
    return _parsed(path)


@lru_cache(maxsize=64)
def _parsed(path: Path) -> Machine:
    try:
        return Machine.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except ValidationError as error:
        details = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in details["loc"])
        why = ": ".join(part for part in (field, explain_error(details)[0]) if part)
    except OSError as error:
        why = str(error.strerror or error)
    except ValueError as error:
        why = str(error)
    hint = "machines/dell-r900.toml is one to copy"
    raise UserError(f"{path} is no machine: {why}", where="database.machine", hint=hint)
