"""`upload.json` of a result folder here: where the folder is uploaded to, and proof that what is there came from it."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from flatwater.owned import write_atomic
from flatwater.results.started import UPLOAD
from flatwater.results.stored import exists, read_json, validate
from flatwater.stores.address import Address


class State(BaseModel):
    """One place that the folder is uploaded to. No login, no server."""

    model_config = ConfigDict(extra="forbid")

    url: str
    #: The random word of the run (`Index.run`).
    run: str
    #: Those of the calls that uploaded from this folder. Another one in the store: another machine went on since.
    holders: list[str] = Field(default_factory=list)


class _States(BaseModel):
    """What is in `upload.json`. The first place is that of its run."""

    model_config = ConfigDict(extra="forbid")

    places: list[State] = Field(default_factory=list)


def read_state(folder: Path, address: Address) -> State | None:
    """What a folder says of a place; None if it was not uploaded to it. Errors: UserError for a damaged file."""
    return next((state for state in _read(folder).places if state.url == str(address)), None)


def first_url(folder: Path) -> str | None:
    """Where the run of a folder uploads to. Errors: UserError for a damaged file."""
    places = _read(folder).places
    return places[0].url if places else None


def write_state(folder: Path, state: State) -> None:
    """Keeps what a folder says of one place. Errors: OSError; UserError for a damaged file."""
    states = _read(folder)
    places = [state if one.url == state.url else one for one in states.places]
    if state not in places:
        places.append(state)
    write_atomic(folder / UPLOAD, _States(places=places).model_dump_json(indent=1))


def _read(folder: Path) -> _States:
    file = folder / UPLOAD
    return validate(_States, read_json(file), file) if exists(file) else _States()
