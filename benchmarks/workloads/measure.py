"""Measures what transactions cost on every server whose figures models take: one run of `fit-workload-...` for each.

CPU times can be compared only if they are of one processor, so all files are measured on one machine. It takes some
ten minutes a file, and nothing else may run meanwhile. A run that is complete is not measured again.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.servers.bench import FLATWATER
from benchmarks.servers.cache import locate
from benchmarks.servers.registry import find
from flatwater.errors import FlatwaterError, UserError
from flatwater.experiment.database.generation import SERIES
from flatwater.fit.workload import count_run, derive, to_workload_toml
from flatwater.server import Binary

#: Where the files are.
FILES = Path(__file__).parents[2] / "python" / "flatwater" / "workloads"
#: sysbench's tables settle when each of their pages has been changed: small ones are there after 40 s. The measured
#: time is 15 s a cell. Both are multiplied by the scale.
_SETS = {"tpcc": (), "oltp": ("scale=0.3", "workload.warmup_s=134", "workload.duration_s=50")}
_OWN_SETS = {
    # The redo of a New-Order of MySQL 9.7 falls for more than the usual 20 s after the load.
    "tpcc-mysql-9.7": ("workload.warmup_s=90",),
    # Servers without tables of statistics tell the sizes of indexes a minute after their start. The smallest pool that
    # Percona Server 5.1 takes is 32 MiB, half of the smaller one of the experiment.
    "oltp-mysql-5.5": ("workload.warmup_s=180",),
    "oltp-percona-5.1": ("scale=0.5", "workload.warmup_s=180"),
}


@dataclass(frozen=True)
class Run:
    """A run for one file of `workloads/`."""

    #: Of the file, `tpcc-mysql-8.0`.
    name: str
    experiment: str
    binary: Binary
    sets: tuple[str, ...]

    def command(self, folder: Path) -> list[str]:
        """The command that measures it below a folder."""
        own = (f"database.binary={self.binary.path}", f"storage.path={self.data(folder)}")
        sets = [part for one in (*self.sets, *own) for part in ("--set", one)]
        return [str(FLATWATER), "run", self.experiment, *sets, "--out", str(self.out(folder)), "--yes"]

    def data(self, folder: Path) -> Path:
        """The storage of all runs: servers and their snapshots."""
        return folder / "data"

    def out(self, folder: Path) -> Path:
        """Its result."""
        return folder / self.name


def names() -> list[str]:
    """Every file that a series of servers takes: `tpcc-mysql-8.0`."""
    return sorted({f"{kind}-{series.measured(kind)}" for series in SERIES for kind in _SETS})


def plan(name: str) -> Run:
    """The run for a file. Errors: UserError if there is no such file, or its server is not on this machine."""
    if name not in names():
        raise UserError(f"no model takes {name}", hint="one of " + ", ".join(names()))
    kind, _, server_name = name.partition("-")
    server = find(server_name)
    binary = locate(server) if server is not None else None
    if binary is None:
        raise UserError(f"{server_name} is not here", hint=f"python -m benchmarks.servers get {server_name}")
    family = "" if binary.flavour == "mariadb" else "mysql-" if binary.version >= (5, 6, 0) else "5.5-"
    return Run(name, f"fit-workload-{family}{kind}", binary, (*_SETS[kind], *_OWN_SETS.get(name, ())))


def measure(run: Run, folder: Path) -> None:
    """Measures one server, and writes its file. Errors: FlatwaterError; `flatwater` has said why."""
    out = run.out(folder)
    print(f"{run.name}: {run.binary.title}", flush=True)
    run.data(folder).mkdir(parents=True, exist_ok=True)
    # `resume` refuses a run of another experiment; a complete one has nothing left to do.
    _call([*run.command(folder), *(["--resume"] if (out / "flatwater.json").exists() else [])])
    (FILES / f"{run.name}.toml").write_text(to_workload_toml(derive(count_run(str(out)))), encoding="utf-8")


def _call(command: Sequence[str]) -> None:
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode
    if ended == 130:
        raise KeyboardInterrupt
    if ended != 0:
        raise FlatwaterError(f"{' '.join(command[1:4])} ended with exit code {ended}")
