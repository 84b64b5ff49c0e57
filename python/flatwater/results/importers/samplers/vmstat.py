"""vmstat's text, with `-t` or without. Sizes are KiB, as vmstat prints them unless `-S` asks for others.

Its first line is the mean since boot, and is left out. Source of the columns: vmstat(8) of procps.
"""

from __future__ import annotations

from pathlib import Path

from flatwater.results.importers.samplers.headings import starts_note, starts_of
from flatwater.results.importers.samplers.sampler import (
    Broken,
    Clock,
    Recording,
    Sample,
    clean_lines,
    in_order,
)
from flatwater.results.importers.samplers.stamps import is_utc, read_stamp

NAME = "vmstat"
_KIB = 1024.0
#: Columns -> the metric, and what a unit of the column is.
_COLUMNS = {
    "us": ("machine.cpu_user_pct", 1.0),
    "sy": ("machine.cpu_system_pct", 1.0),
    "id": ("machine.cpu_idle_pct", 1.0),
    "wa": ("machine.cpu_iowait_pct", 1.0),
    "st": ("machine.cpu_steal_pct", 1.0),
    "r": ("machine.tasks_running", 1.0),
    "b": ("machine.tasks_blocked", 1.0),
    "in": ("machine.interrupts_per_s", 1.0),
    "cs": ("machine.context_switches_per_s", 1.0),
    "bi": ("machine.block_read_bytes_per_s", _KIB),
    "bo": ("machine.block_written_bytes_per_s", _KIB),
    "si": ("machine.swap_read_bytes_per_s", _KIB),
    "so": ("machine.swap_written_bytes_per_s", _KIB),
    "free": ("machine.memory_free_bytes", _KIB),
    "cache": ("machine.memory_cached_bytes", _KIB),
}

#: The time of a row, if it has one, its figures, and its line.
_Row = tuple[float | None, dict[str, float], int]


def recognises(path: Path, head: str) -> bool:
    """Whether a line has vmstat's column names."""
    del path
    return any(_is_heading(line.split()) for line in head.splitlines())


def read(path: Path) -> Recording:
    """The samples of a file. Errors: UserError."""
    columns: list[str] = []
    zone = ""
    # The rows after each heading, and how many more cannot be read.
    blocks: list[list[_Row]] = []
    unreadable: list[int] = []
    broken, clock_told = Broken(), False
    for number, line in clean_lines(path):
        words = line.split()
        if _is_heading(words):
            columns = words
            known = [name for name in words if name in _COLUMNS or name in ("swpd", "buff", "inact", "active", "gu")]
            zone = words[-1] if len(known) < len(words) else ""
            columns = words[: len(words) - (1 if zone else 0)]
            blocks.append([])
            unreadable.append(0)
            continue
        if not columns or not words or words[0] in ("procs", "--procs--", "----procs----"):
            continue
        values = broken.values(number, columns, words[: len(columns)])
        if values is None:
            unreadable[-1] += 1
            continue
        time = " ".join(words[len(columns) : len(columns) + 2])
        stamp = read_stamp(time)
        if stamp is None and (clock_told or ":" in time):
            broken.add(number, f"no such time: {time[:40]!r}")
            unreadable[-1] += 1
            continue
        clock_told = clock_told or stamp is not None
        metrics = {_COLUMNS[name][0]: value * _COLUMNS[name][1] for name, value in values.items() if name in _COLUMNS}
        blocks[-1].append((stamp[0] if stamp is not None else None, metrics, number))
    starts = starts_of([(len(rows), count) for rows, count in zip(blocks, unreadable, strict=True)])
    samples = _samples(blocks, starts)
    if not samples:
        raise broken.nothing(path, "no samples after the first line, which is the mean since boot")
    notes = [*starts_note(NAME, len(starts)), *broken.notes()]
    unknown = sorted({name for name in columns if name not in _COLUMNS})
    samples = in_order(samples, notes)
    clock: Clock = "none" if not clock_told else "epoch" if is_utc(zone) else "local"
    return Recording(NAME, clock, samples, None, notes=notes, unknown=unknown)


def _samples(blocks: list[list[_Row]], starts: list[int]) -> list[Sample]:
    """The rows without the first one of each start. Without times, they are numbered."""
    rows = [row for number, block in enumerate(blocks) for row in block[1 if number in starts else 0 :]]
    return [
        Sample(float(index) if at_s is None else at_s, metrics, number)
        for index, (at_s, metrics, number) in enumerate(rows, 1)
    ]


def _is_heading(words: list[str]) -> bool:
    return words[:2] == ["r", "b"] and "us" in words and "bi" in words
