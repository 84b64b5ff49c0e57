"""The experiment library: the files that come with flatwater."""

from __future__ import annotations

from pathlib import Path

from flatwater.errors import FlatwaterError


def library_dir() -> Path:
    """Where the library is: `experiments/` of the package, to which the source tree's `experiments` leads too."""
    place = Path(__file__).parents[1] / "experiments"
    if not place.is_dir():
        raise FlatwaterError("the experiment library is missing", hint="reinstall flatwater")
    return place


def library_files() -> dict[str, Path]:
    """Name -> file of every experiment of the library, by name."""
    return {path.stem: path for path in sorted(library_dir().glob("*.toml"))}
