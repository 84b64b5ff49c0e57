"""What was recorded of the circumstances of runs, and what of it changed where their figures did.

What comes first in time is not always the cause: it is where to look.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from flatwater.analysis.alike import machine_facts, server_variables
from flatwater.analysis.noise import OTHERS_CPU_PCT_MAX, PRESSURE_MEMORY_PCT_MAX, STEAL_PCT_MAX
from flatwater.analysis.trend.runs import Run, RunCell
from flatwater.errors import UserError
from flatwater.results.health import CellHealth

#: So many runs before and after a change are looked at: its place is an estimate. Of series with a step of 5 % and
#: noise of 3 %, the place is at most three runs beside the true one in nine of ten (`benchmarks/trend.py`).
NEAR_RUNS = 3
#: Amounts are compared by their medians over at most so many runs on each side.
_SIDE_RUNS = 10
#: More variables of a server are only counted: an upgrade brings dozens.
VARIABLES_MAX = 6
#: Facts that make it another machine, or that others say.
_NOT_FACTS = {
    *("cpu", "cores", "memory_bytes", "numa_node_bytes", "flatwater", "storage.path", "storage.model"),
    *("storage.device_bytes", "storage.file_system", "storage.file_system_bytes", "workers", "load_hosts", "executor"),
}
#: Variables that tell the version, which is told once.
_OF_VERSION = ("version", "innodb_version", "version_", "tls_version")


@dataclass(frozen=True)
class Changed:
    """Something recorded that changed near a change of a figure."""

    what: str
    #: Empty, as `after`, where only `what` is told.
    before: str
    after: str
    #: How many runs later than the figure it changed; below zero: earlier. 0 for an amount.
    runs_later: int = 0

    @property
    def text(self) -> str:
        """`kernel 6.1 -> 6.5 (1 run later)`."""
        count = abs(self.runs_later)
        when = f" ({count} run{'s' * (count > 1)} {'later' if self.runs_later > 0 else 'before'})" if count else ""
        return f"{self.what} {self.before} -> {self.after}{when}" if self.before else self.what


@dataclass(frozen=True)
class _Amount:
    """An amount of a run, and the difference from which on it is told."""

    what: str
    least: float
    shown: Callable[[float], str]
    read: Callable[[Run, RunCell], float | None]


def what_changed(runs: Sequence[Run], cells: Sequence[RunCell], place: int, span: range) -> list[Changed]:
    """What changed at the runs near `place` (the first run of the new level): facts, the nearest first, then amounts.

    `span`: the runs between the neighbouring changes of the figure, of which no more is looked at.
    """
    near = range(max(span.start, place - 1 - NEAR_RUNS), min(span.stop, place + NEAR_RUNS + 1))
    told = [_facts(runs[index], cells[index]) for index in near]
    found: list[Changed] = []
    for index, before, after in zip(near[1:], told, told[1:], strict=False):
        found += [_between(name, before, after, index - place) for name in _differing(before, after)]
    found.sort(key=lambda one: abs(one.runs_later))
    found = _at_most(found)
    ours = range(max(span.start, place - _SIDE_RUNS), place)
    theirs = range(place, min(span.stop, place + _SIDE_RUNS))
    for amount in _AMOUNTS:
        sides = [_typical([amount.read(runs[at], cells[at]) for at in side]) for side in (ours, theirs)]
        first, second = sides
        if first is not None and second is not None and abs(second - first) >= amount.least:
            found.append(Changed(amount.what, amount.shown(first), amount.shown(second)))
    return found


def _differing(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    return [name for name in dict.fromkeys([*before, *after]) if before.get(name) != after.get(name)]


def _between(name: str, before: Mapping[str, str], after: Mapping[str, str], runs_later: int) -> Changed:
    return Changed(name, before.get(name) or "not told", after.get(name) or "not told", runs_later)


_VARIABLE = "variable "


def _at_most(found: Sequence[Changed]) -> list[Changed]:
    """No more variables of a server than can be read: those that both servers have come first."""
    variables = sorted(
        (one for one in found if one.what.startswith(_VARIABLE)),
        key=lambda one: ("not told" in (one.before, one.after), abs(one.runs_later)),
    )
    others = [one for one in found if not one.what.startswith(_VARIABLE)]
    more = [Changed(f"{len(variables)} variables in all", "", "")] if len(variables) > VARIABLES_MAX else []
    return [*others, *variables[:VARIABLES_MAX], *more]


def _facts(run: Run, cell: RunCell) -> dict[str, str]:
    """What is known of a run's circumstances, as texts."""
    facts = {name: text for name, text in machine_facts(run.machine).items() if name not in _NOT_FACTS}
    for kind, machines in (
        ("worker", run.machine.get("workers", [])),
        ("load host", run.machine.get("load_hosts", [])),
    ):
        for number, machine in enumerate(machines):
            told = machine_facts(machine).items()
            facts |= {f"{kind} {number}: {name}": text for name, text in told if name not in _NOT_FACTS}
    found = {"flatwater": run.flatwater_version}
    found |= {name.removeprefix("storage.").replace("_", " "): text for name, text in facts.items()}
    for server in cell.summary.servers:
        which = "server" if len(cell.summary.servers) == 1 else f"server {server.instance}"
        found[which] = " ".join(filter(None, (server.flavour, server.version, server.comment)))
        found[f"data of {which}"] = server.data or "its own"
        found[f"TLS of {which}"] = server.tls or "none"
    if device := cell.summary.layers.get("device"):
        found["device"] = device
    found |= {f"{_VARIABLE}{name}": text for name, text in _variables(run, cell).items()}
    return found | (_of_health(cell.summary.health) if cell.summary.health is not None else {})


def _variables(run: Run, cell: RunCell) -> dict[str, str]:
    try:
        told = server_variables(run.path, cell.index)
    except UserError:
        return {}
    return {name: str(value) for name, value in told.items() if not name.lower().startswith(_OF_VERSION)}


def _of_health(health: CellHealth) -> dict[str, str]:
    found = {}
    for drive in health.drives:
        found[f"{drive.device} slowed itself down for heat"] = "yes" if drive.was_hot else "no"
        if drive.media_errors is not None:
            found[f"media errors of {drive.device}"] = f"{drive.media_errors:.0f}"
    for controller in health.controllers:
        found[f"battery of {controller.name}"] = controller.worst_battery or controller.battery or "not told"
        found[f"tasks of {controller.name}"] = ", ".join(controller.chores) or "none"
    for array in health.arrays:
        found[f"missing members of {array.name}"] = str(array.missing)
        # Without how far it is: `check, 12 %`.
        busy = {words.partition(",")[0] for words in (array.activity_before, array.activity) if words}
        found[f"work of {array.name}"] = ", ".join(sorted(busy)) or "none"
    return found


def _typical(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _mean(cell: RunCell, name: str) -> float | None:
    found = cell.summary.metrics.get(name)
    return found.mean if found is not None else None


def _neighbour_pct(_: Run, cell: RunCell) -> float | None:
    """CPU of what is neither the client nor what flatwater started, 100 = one core."""
    others = _mean(cell, "machine.others_cpu_pct")
    if others is None:
        return None
    server = sum(_mean(cell, f"database.server_cpu_{part}_pct") or 0.0 for part in ("user", "system"))
    return max(0.0, others - max(server, _mean(cell, "machine.children_cpu_pct") or 0.0))


def _filled_pct(run: Run, _: RunCell) -> float | None:
    storage = run.machine.get("storage", {})
    whole, free = storage.get("file_system_bytes"), storage.get("file_system_free_bytes")
    return 100 * (1 - free / whole) if whole and free is not None else None


def _worst_drive(read: str) -> Callable[[Run, RunCell], float | None]:
    """The highest of a figure of all drives."""

    def worst(_: Run, cell: RunCell) -> float | None:
        drives = cell.summary.health.drives if cell.summary.health is not None else []
        known = [value for drive in drives if (value := getattr(drive, read)) is not None]
        return max(known, default=None)

    return worst


def _pct(value: float) -> str:
    return f"{value:.0f} %"


_AMOUNTS = (
    _Amount("neighbours' CPU", OTHERS_CPU_PCT_MAX, lambda value: f"{value / 100:.1f} cores", _neighbour_pct),
    _Amount("CPU steal", STEAL_PCT_MAX, _pct, lambda _, cell: _mean(cell, "machine.cpu_steal_pct")),
    _Amount(
        "waiting for memory",
        PRESSURE_MEMORY_PCT_MAX,
        _pct,
        lambda _, cell: _mean(cell, "machine.pressure_memory_some_pct"),
    ),
    # A flash card with less free space collects more; a file system that is full places files elsewhere.
    _Amount("file system in use", 10.0, _pct, _filled_pct),
    _Amount("wear of the drive", 2.0, _pct, _worst_drive("used_pct")),
    _Amount("temperature of the drive", 10.0, lambda value: f"{value:.0f} °C", _worst_drive("temperature_c")),
)
