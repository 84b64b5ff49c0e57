"""A run that a page goes on with: what its result says it is, held against what this server may start.

A result may be anybody's, and so may its experiment. It is never run: it is compared with the library's experiment of
its name, and what differs becomes lines as a form has them, which are checked as those of a form (`wish.py`). The run
is the library's experiment with these lines, and what comes out must be the result's experiment, to the letter. Places
of storages, which are the user's directories, are not taken from a result: whoever resumes names them again, unless
this server began the run with them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flatwater.errors import UserError
from flatwater.experiment import cell_at, load, to_toml
from flatwater.experiment.storage.file import local_path
from flatwater.results import Result, open_result
from flatwater.results.lock import require_not_run
from flatwater.results.result import ELSEWHERE
from flatwater.results.started import HERE, IMPORTED, read_started
from flatwater.runner.check import Checked
from flatwater.runner.resuming import read_left
from flatwater.runner.sweep import complete_text, reopen_result
from flatwater.serve.launch.difference import lines_between
from flatwater.serve.launch.shelf import Entry, Shelf
from flatwater.serve.launch.theirs import refused, require_nothing_leads_elsewhere
from flatwater.serve.launch.wish import PLACES, Wish, checked, fitting, refused_beside_places, said_by, values_of


@dataclass(frozen=True)
class Resumption:
    """A run that can go on."""

    folder: Path
    wish: Wish
    checked: Checked


class PlacesMissing(UserError):
    """The run writes to directories of the user that only its result names."""

    def __init__(self, folder: Path, places: Sequence[tuple[str, str]]) -> None:
        where = ", ".join(f"{field} = {place}" for field, place in places)
        what = f"it goes on in a directory that its result names ({where})"
        super().__init__(what, where=str(folder), hint="if that is yours and meant, write it here, too")
        #: (field, what the result says).
        self.places = places


class Problems(UserError):
    """All that is wrong with the experiment."""

    def __init__(self, problems: Sequence[UserError]) -> None:
        super().__init__(problems[0].what, where=problems[0].where, hint=problems[0].hint)
        self.problems = problems


def resumption(folder: Path, root: Path, shelf: Shelf, given: Sequence[str]) -> Resumption:
    """What goes on with the result in `folder`, which must be below `root`; `given` are lines that the user wrote.

    Errors: UserError with the reason why nothing does; PlacesMissing, Problems.
    """
    if root not in folder.parents:
        raise refused(folder, f"is not in {root}, where this server puts runs")
    require_nothing_leads_elsewhere(folder, root)
    result = open_result(folder)
    if result.manifest.source != "run":
        raise UserError(IMPORTED, where=str(folder))
    require_not_run(folder)
    if result.manifest.status == "complete":
        raise UserError(complete_text(folder))
    entry = shelf.find(result.name)
    if entry is None:
        raise refused(folder, f"its experiment, {result.name!r}, is none of the library")
    lines = _lines(result, entry)
    if problems := refused_beside_places(Wish(entry.path, tuple(lines))):
        raise Problems([refused(folder, one.what) for one in problems])
    # Before a place is looked up, and once more: of what the run would write to, whichever line says it.
    places = _require_given(folder, said_by(lines), given, entry)
    _require_same_start(folder, places)
    wish = Wish(entry.path, tuple(lines))
    found, problems = checked(wish)
    if found is None:
        raise Problems(problems)
    _require_given(folder, values_of(found.experiment), given, entry)
    again = reopen_result(found.experiment, folder)
    if again is None:
        raise UserError("its flatwater.json is gone", where=str(folder))
    _require_sound(again, found)
    return Resumption(folder, wish, found)


def only_places(lines: Sequence[str]) -> Sequence[str]:
    """The lines of a form that resumes. Errors: UserError for what is no place of a storage."""
    for line in lines:
        fields = [field for field, _ in said_by([line])]
        if not fields or not all(map(PLACES.fullmatch, fields)):
            what = "a run goes on as it was begun, and only where its storages are is written again"
            raise UserError(what, where=f"--set {line[:80]}", hint="storage.path=DIR")
    return lines


def _lines(result: Result, entry: Entry) -> list[str]:
    """What the result's experiment has beside the library's. Errors: UserError."""
    own = tomllib.loads(to_toml(load(entry.path)))
    try:
        return list(fitting(lines_between(own, result.experiment)))
    except (RecursionError, ValueError, TypeError):
        raise refused(result.path, "its experiment cannot be said in lines of --set") from None


def _places(asked: Iterable[tuple[str, Any]]) -> list[tuple[str, str]]:
    """Each place of a storage among fields and their values."""
    found = ((field, local_path(value)) for field, value in asked if PLACES.fullmatch(field) and value)
    return [(field, place) for field, place in dict.fromkeys(found) if isinstance(place, str)]


def _require_given(
    folder: Path, asked: Iterable[tuple[str, Any]], given: Sequence[str], entry: Entry
) -> list[tuple[str, str]]:
    """The places that a run writes to. Errors: PlacesMissing for those that neither the user nor the library names."""
    places = _places(asked)
    known = {*_places(said_by(given)), *_places(values_of(load(entry.path)))}
    if missing := [one for one in places if one not in known]:
        raise PlacesMissing(folder, missing)
    return places


def _require_same_start(folder: Path, places: Sequence[tuple[str, str]]) -> None:
    """The options of the command line that began it. Errors: UserError for those that no page has."""
    started, begun_in = read_started(folder)
    if started.on != HERE or started.load_on is not None:
        option = f"--on {started.on}" if started.on != HERE else f"--load-on {started.load_on}"
        raise refused(folder, f"was begun with {option}")
    if any(not Path(place).is_absolute() for _, place in places) and begun_in != Path.cwd():
        raise refused(folder, f"was begun in {begun_in or 'another folder'}, where its paths begin")


def _require_sound(result: Result, found: Checked) -> None:
    """Errors: UserError for a measurement that cannot be gone on with: a terminal sets it aside, and measures anew."""
    for cell in result.cells:
        if cell.summary is not None and cell.summary.status == "complete":
            continue
        left = read_left(cell, cell_at(found.experiment, cell.index).experiment)
        damaged = left.measured_s != left.measured_s
        if left.why_not is not None and (damaged or (cell.folder / ELSEWHERE).exists()):
            raise refused(result.path, f"{cell.label}: {left.why_not}")
