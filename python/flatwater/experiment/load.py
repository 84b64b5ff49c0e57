"""Loads an experiment from a file, or by a name of the library.

parse -> spell -> override -> scale -> validate: each stage is a function from tables to tables, and the last one
returns the experiment (`validation.py`). `cells.py` makes its cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from flatwater.errors import UserError
from flatwater.experiment.device import KINDS
from flatwater.experiment.device.files import device_files
from flatwater.experiment.experiment import Experiment
from flatwater.experiment.library import library_files
from flatwater.experiment.overrides import override_all
from flatwater.experiment.parse import Tables, is_deeper, parse_toml, read_text
from flatwater.experiment.paths import swept_fields
from flatwater.experiment.placing import Places, place_problems
from flatwater.experiment.scale import scale_tables
from flatwater.experiment.spell import spell
from flatwater.experiment.validation import validate
from flatwater.spelling import guessed, nearest


def load(
    path_or_name: str | Path, overrides: Sequence[str] = (), seed: int | None = None, *, programs: bool = False
) -> Experiment:
    """Reads an experiment: a file, or a name of the library.

    `overrides` are texts like `storage.path=/mnt/flash`. Each replaces the value in the file, also a sweep of the
    field. `seed` replaces the file's. Parts of the report and published figures about cells that an override removes
    are dropped. `programs`: those that the experiment names may run: the user runs his own file (`programs.py`).
    Raises InvalidExperimentError, or another UserError, for any error.
    """
    path = find_experiment(path_or_name)
    text = read_text(path)
    written = _parse(path, text)
    spelled = spell(written)
    asked, set_by = override_all(spelled, overrides, seed)
    if is_deeper(asked):
        raise UserError("the tables are nested too deeply", where=str(path))
    scaled = scale_tables({"name": path.stem, **asked})
    experiment, problems = validate(scaled, overridden=bool(overrides))
    swept = swept_fields(scaled.get("sweep"))
    if experiment is None:
        raise place_problems(problems, path, text, set_by, swept)
    experiment = experiment.written_at(Places(path, text, set_by, swept))
    return experiment.letting_programs_run() if programs else experiment


def find_experiment(path_or_name: str | Path) -> Path:
    """The file of a path or of a name of the library."""
    written = str(path_or_name)
    path = Path(path_or_name)
    try:
        if path.is_file():
            return path
        exists, is_folder = path.exists(), path.is_dir()
    except (OSError, ValueError) as error:  # no permission, a name too long, a NUL in it
        reason = error.strerror if isinstance(error, OSError) else error
        raise UserError(f"cannot be read: {reason}", where=written) from None
    files = library_files()
    if written in files:
        return files[written]
    if is_folder:
        raise UserError("is a directory, not an experiment file", where=written or "''")
    if exists:
        raise UserError("is not a regular file", where=written)
    if "/" in written or written.endswith(".toml"):
        siblings = [str(other) for other in path.parent.glob("*.toml")]
        close = nearest(str(path), siblings) or nearest(path.stem, files)
        raise UserError("no such file", where=written, hint=f"did you mean {close}?" if close else None)
    if written in device_files():
        what, hint = (
            "is a modelled device, not an experiment",
            f"flatwater run fill-level --set storage.device={written}",
        )
        raise UserError(what, where=written, hint=f"{hint} --set storage.kind=KIND")
    hint = guessed(written, files) or "`flatwater list` shows the library"
    raise UserError("neither a file nor an experiment of the library", where=written, hint=hint)


def _parse(path: Path, text: str) -> Tables:
    data = parse_toml(path, text)
    if not data:
        hint = "start from one of the library: `flatwater show quick`"
        raise UserError("the file is empty", where=str(path), hint=hint)
    if "workload" not in data and isinstance(kind := data.get("kind"), str) and kind in KINDS:
        hint = f"flatwater run fill-level --set storage.kind={kind} --set storage.device={_as_path(path)}"
        raise UserError("is a modelled device's file, not an experiment", where=str(path), hint=hint)
    return data


def _as_path(path: Path) -> str:
    """The path in a form that cannot be confused with the name of a device."""
    return str(path) if "/" in str(path) else f"./{path}"
