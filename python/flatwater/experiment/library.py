"""The files of the experiment library. load.py finds them by name; library_entries.py loads them all."""

from __future__ import annotations

from pathlib import Path

from flatwater.errors import FlatwaterError


def library_dir() -> Path:
    """The folder of the library: `experiments/` of the package, which `experiments` of the source tree links to."""
    place = Path(__file__).parents[1] / "experiments"
    if not place.is_dir():
        raise FlatwaterError("the experiment library is missing", hint="reinstall flatwater")
    return place


def library_files() -> dict[str, Path]:
    """Name -> file of every experiment of the library, in the order of the names."""
    return {path.stem: path for path in sorted(library_dir().glob("*.toml"))}
