"""Parts of the generated pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.noise import Noise
from benchmarks.pairs import Ratio, Target
from flatwater.experiment import print_size


def page_with(page: Path, begin: str, end: str, text: str) -> str:
    """The page with `text` between the two lines as the only content. Errors: ValueError if a line is missing."""
    before, rest = page.read_text().split(begin)
    _, after = rest.split(end)
    return f"{before}{begin}\n{text}\n{end}{after}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table with right-aligned figures."""
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def interval(found: Ratio) -> str:
    """A ratio and its interval, for a table."""
    return f"{found.median:.3f} [{found.low:.3f}, {found.high:.3f}]"


def judged(found: Ratio, target: Target | None) -> list[str]:
    """Three cells: a ratio, its target and whether it is met."""
    return [interval(found), target.text(), found.verdict(target)] if target else [interval(found), "", "shown only"]


def loss(found: Ratio, target: Target, digits: int = 0) -> list[str]:
    """Three cells: a ratio of two throughputs as a loss, in %. The target has so many digits."""
    median, high, low = (f"{100 * (1 - value):+.2f}" for value in (found.median, found.low, found.high))
    limit = f"< {100 * (1 - target.limit):.{digits}f} %"
    return [f"{median} % [{low}, {high}]", limit, found.verdict(target)]


def circumstances(
    command: str,
    date: str,
    versions: Sequence[str],
    machine: Mapping[str, Any],
    storage: Mapping[str, Any],
    held: str,
    noise: Noise,
) -> str:
    """The circumstances of the measurement. `held` names the content of the storage. No folder is named.

    With an empty `storage`, nothing was read or written: there is no line about it.
    """
    cpu = f"{machine.get('cpu', 'unknown CPU')}, {machine.get('cores')} cores"
    cpu += ", virtual" if machine.get("hypervisor") else ""
    disk = ", ".join(
        str(storage[name])
        for name in ("device", "model", "file_system", "mount_options", "scheduler")
        if name in storage
    )
    lines = {
        "command": f"`{command}`",
        "date": date,
        "versions": ", ".join(versions),
        "machine": f"{cpu}, {print_size(machine.get('memory_bytes', 0))} of memory",
        "kernel": f"{machine.get('kernel')}, {machine.get('system', '')}".rstrip(", "),
        **({"storage": f"{disk}; {held}"} if storage else {}),
        "meanwhile": noise.text(),
    }
    return "| | |\n|---|---|\n" + "\n".join(f"| {name} | {value} |" for name, value in lines.items())
