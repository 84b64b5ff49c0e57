"""Emulation in real time: what it adds to a device that takes no time, and how near others come to their model.

Each case is `flatwater run --json` of emulated.toml, at three depths; beside virtual time it is run twice, alike but
for `storage.real_time`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from benchmarks.job import run_child
from flatwater.errors import FlatwaterError
from flatwater.runner.stack.served.mounts import require_fuse

HERE = Path(__file__).parent
#: The depths of emulated.toml, as on the page.
DEPTHS = (1, 8, 32)

Mode = Literal["rndrd", "rndwr"]


@dataclass(frozen=True)
class Case:
    """A device and what is asked of it: 4 KiB at random, io_uring, at each depth."""

    device: str
    mode: Mode
    fields: tuple[str, ...]
    #: Run in virtual time too; without it nothing but the floor is of interest.
    beside_model: bool = True

    @property
    def title(self) -> str:
        """The case in a table's cell."""
        return f"{self.device}, {'reads' if self.mode == 'rndrd' else 'writes'}"


#: Small enough that its content stays in memory: what lies under it is to stay out of the way.
_SIZE = "storage.size=64MiB"
_MEMORY = ("storage.kind=memory", f"storage.device={HERE / 'memory.toml'}", _SIZE)
_CARD = ("storage.kind=ssd", "storage.device=fusion-io-iodrive-160-slc", _SIZE)
CASES: tuple[Case, ...] = (
    Case("memory without latency", "rndrd", _MEMORY, beside_model=False),
    Case("memory without latency", "rndwr", _MEMORY, beside_model=False),
    Case("memory of 2 ms", "rndrd", (*_MEMORY, "storage.parameters.latency_us=2000")),
    # The whole disk: on a part of it, it seeks less.
    Case("disk-7200", "rndrd", ("storage.kind=hdd", "storage.device=disk-7200")),
    Case("fusion-io-iodrive-160-slc", "rndrd", _CARD),
    Case("fusion-io-iodrive-160-slc", "rndwr", _CARD),
)


@dataclass(frozen=True)
class Timed:
    """What one cell gave. The lag is that of its intervals, averaged; None in virtual time."""

    requests: int
    iops: float
    p50_us: float
    lag_p95_us: float | None = None
    late_pct: float | None = None


@dataclass(frozen=True)
class Beside:
    """A case at a depth: in real time, and in virtual time where that was asked for."""

    case: Case
    depth: int
    real: Timed
    virtual: Timed | None = None


def missing() -> str | None:
    """Why nothing can be emulated here."""
    try:
        require_fuse()
    except FlatwaterError as error:
        return str(error)
    return None


def measure_emulation(folder: Path, seconds: float, told: Callable[[str], None]) -> list[Beside]:
    """All cases at all depths, `seconds` each, with their content in `folder`. Errors: FlatwaterError."""
    place = folder / "emulated"
    place.mkdir()
    found = []
    for case in CASES:
        real = _run(case, folder, seconds, ("storage.real_time=true", f"storage.path={place}"))
        virtual = _run(case, folder, seconds, ()) if case.beside_model else {}
        found += [Beside(case, depth, real[depth], virtual.get(depth)) for depth in DEPTHS]
        told(f"emulation, {case.title}: p50 " + " / ".join(f"{real[depth].p50_us:,.0f}" for depth in DEPTHS) + " us")
    return found


def _run(case: Case, folder: Path, seconds: float, where: Sequence[str]) -> dict[int, Timed]:
    fields = (*case.fields, f"workload.mode={case.mode}", f"workload.duration_s={seconds:g}", *where)
    sets = [word for field in fields for word in ("--set", field)]
    # The one beside this interpreter, not another that may be on the PATH.
    program = Path(sys.executable).with_name("flatwater")
    out = folder / f"result-{CASES.index(case)}-{'real' if where else 'virtual'}"
    finished = run_child([str(program), "run", str(HERE / "emulated.toml"), *sets, "--json", "--out", str(out)], folder)
    return read_cells(finished.output)


def read_cells(output: str) -> dict[int, Timed]:
    """By depth, from what `flatwater run --json` prints: the cells in the order in which they ended.

    Errors: FlatwaterError when it is not understood, or not all of it is there.
    """
    try:
        cells = [json.loads(line) for line in output.splitlines()]
        found = {int(cell["set"]["workload.queue_depth"]): _timed(cell) for cell in cells}
    except (ValueError, KeyError, TypeError) as error:
        raise FlatwaterError(f"flatwater's output is not understood: {error!r}") from None
    if sorted(found) != sorted(DEPTHS):
        raise FlatwaterError(f"flatwater told of the depths {sorted(found)}, not {list(DEPTHS)}")
    return found


def _timed(cell: Mapping[str, Any]) -> Timed:
    def metric(name: str) -> float | None:
        found = cell["metrics"].get(f"storage.{name}")
        return None if found is None else float(found["mean"])

    return Timed(
        requests=int(cell["operations"]),
        iops=float(cell["mean"]),
        p50_us=float(cell["latency_us"]["p50"]),
        lag_p95_us=metric("lag_p95_us"),
        late_pct=metric("lag_late_pct"),
    )
