"""The experiment library: the files that come with flatwater."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from flatwater.errors import FlatwaterError


@dataclass(frozen=True)
class LibraryEntry:
    """One experiment of the library. `longest_s` leaves out preparation and preconditioning."""

    name: str
    title: str
    about: str
    cells: int
    longest_s: float
    #: Whether `longest_s` is virtual time, which is computed and not waited for.
    virtual: bool
    #: Layer -> `real`, `modelled` or `none`.
    layers: dict[str, str]
    path: Path


def library_dir() -> Path:
    """Where the library is: `experiments/` of the package, to which the source tree's `experiments` leads too."""
    place = Path(__file__).parents[1] / "experiments"
    if not place.is_dir():
        raise FlatwaterError("the experiment library is missing", hint="reinstall flatwater")
    return place


def library_files() -> dict[str, Path]:
    """Name -> file of every experiment of the library, by name."""
    return {path.stem: path for path in sorted(library_dir().glob("*.toml"))}


def library() -> list[LibraryEntry]:
    """Every experiment of the library, read and validated."""
    from flatwater.experiment.duration import longest_s
    from flatwater.experiment.load import load
    from flatwater.experiment.sweep import count_cells

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
