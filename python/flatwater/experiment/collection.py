"""Many experiments at once: a folder of files, several files, or the library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from flatwater.errors import UserError
from flatwater.experiment.cells import count_cells
from flatwater.experiment.experiment import Experiment
from flatwater.experiment.library import library_files
from flatwater.experiment.load import find_experiment, load
from flatwater.experiment.runnable import require_runnable

#: The files that identify the folder of a result (results/create.py) or of several (runner/several.py).
RESULT_FILES = ("flatwater.json", "experiments.json")


@dataclass
class Collection:
    """Experiments by the names of their files, in the order to run them."""

    experiments: dict[str, Experiment] = field(default_factory=dict)
    #: Name -> the reason why it is not run.
    left_out: dict[str, str] = field(default_factory=dict)
    #: The files of those that are run.
    files: dict[str, Path] = field(default_factory=dict)

    @property
    def cells(self) -> int:
        """The number of cells of all experiments together."""
        return sum(count_cells(experiment) for experiment in self.experiments.values())


def collect(
    given: Sequence[str], overrides: Sequence[str] = (), seed: int | None = None, *, programs: bool = False
) -> Collection:
    """The experiments in virtual time from folders, files and names of the library; the whole library if none is given.
    Real experiments, and those without a place for their data, are left out. `programs` as `load` takes it.

    Raises UserError when a file is not an experiment, or no experiment is left.
    """
    found = Collection()
    files = [path for one in given for path in _files(one)] if given else list(library_files().values())
    for path in files:
        name = path.stem
        if name in found.experiments or name in found.left_out:
            raise UserError(
                f"two experiments are called {name}, and each has a folder of that name",
                where=str(path),
                hint="rename one of the files",
            )
        experiment = load(path, overrides, seed, programs=programs)
        why = _why_left_out(experiment)
        if why is None:
            found.experiments[name] = experiment
            found.files[name] = path
        else:
            found.left_out[name] = why
    if not found.experiments:
        name, why = next(iter(found.left_out.items()))
        others = f", and {len(found.left_out) - 1} more are left out" if len(found.left_out) > 1 else ""
        what = f"nothing to run: {name} {why}{others}"
        hint = "--all runs what is modelled; run the others one by one"
        raise UserError(what, where=" ".join(given) or "the library", hint=hint)
    return found


def _files(given: str) -> list[Path]:
    path = Path(given)
    try:
        is_folder = path.is_dir()
    except (OSError, ValueError):  # `find_experiment` will report it
        is_folder = False
    if not is_folder or given in library_files():
        return [find_experiment(given)]
    try:
        if any((path / name).exists() for name in RESULT_FILES):
            raise UserError("is a result, and no folder of experiments", where=given, hint=f"flatwater report {given}")
        found = sorted(path.glob("*.toml"))
        if not found and any(path.glob("*/flatwater.json")):
            raise UserError("holds results, and no experiment file", where=given, hint="give a folder of .toml files")
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", where=given) from None
    if not found:
        raise UserError("holds no experiment file (*.toml)", where=given, hint="`flatwater show quick` is one to copy")
    return found


def _why_left_out(experiment: Experiment) -> str | None:
    if not experiment.in_virtual_time or "storage.real_time" in experiment.sweep.fields:
        real = "runs a real server" if experiment.layers["database"] == "real" else "uses real storage"
        return real + ("" if experiment.storage.path else ", and needs storage.path")
    try:
        require_runnable(experiment)
    except UserError as error:
        return f"cannot run as it is: {error.what}"
    return None
