"""The entries of the experiment library. It is apart from library.py because load.py imports that file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from flatwater.experiment.cells import count_cells
from flatwater.experiment.duration import longest_s
from flatwater.experiment.library import library_files
from flatwater.experiment.load import load


@dataclass(frozen=True)
class LibraryEntry:
    """One experiment of the library. `longest_s` does not include preparation and preconditioning."""

    name: str
    title: str
    about: str
    cells: int
    longest_s: float
    #: Whether `longest_s` is virtual time.
    virtual: bool
    #: Layer -> `real`, `modelled` or `none`.
    layers: dict[str, str]
    path: Path


def library() -> list[LibraryEntry]:
    """Loads and checks every experiment of the library."""
    entries = []
    for name, path in library_files().items():
        experiment = load(path)
        entries.append(
            LibraryEntry(
                name=name,
                title=experiment.title,
                about=experiment.about,
                cells=count_cells(experiment),
                longest_s=longest_s(experiment),
                virtual=experiment.in_virtual_time,
                layers=experiment.layers,
                path=path,
            )
        )
    return entries
