"""A folder that holds the results of many experiments, which were run as one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from flatwater.errors import UserError
from flatwater.results.opening import open_result, require_known_version
from flatwater.results.result import Result
from flatwater.results.stored import exists, read_json

#: The file that tells a folder of several results from a single result.
INDEX = "experiments.json"


@dataclass(frozen=True)
class Results:
    """The results of many experiments that were run as one."""

    path: Path
    #: The experiments, in the order in which the user gave them. The folder of each has its name.
    names: list[str]
    #: Name -> why it was not run.
    left_out: dict[str, str]
    flatwater_version: str

    def results(self) -> Iterator[tuple[str, Result | None]]:
        """Each name with its result; None for an experiment that was not begun. Errors: UserError."""
        for name in self.names:
            begun = exists(self.path / name / "flatwater.json")
            yield name, open_result(self.path / name) if begun else None


def results_in(path: Path) -> Results:
    """The index of a folder of results.

    Errors: UserError when it is none, is damaged, or was written by a newer flatwater.
    """
    file = path / INDEX
    raw = read_json(file)
    require_known_version(raw, path)
    raw = raw if isinstance(raw, dict) else {}
    names, left_out = raw.get("experiments"), raw.get("left_out", {})
    if not isinstance(names, list) or not all(isinstance(name, str) and "/" not in name for name in names):
        names = None
    if names is None or not isinstance(left_out, dict):
        raise UserError("there is no list of experiments in it", where=str(file), hint="the folder is damaged")
    reasons = {str(name): str(why) for name, why in left_out.items()}
    return Results(path, list(names), reasons, str(raw.get("flatwater_version", "")))
