"""`uploaded.json` of a result in a store: whose it is, and what belongs to it.

It is the first object that a run makes (so that no other run takes the place), and is written again, as the last one,
whenever others were added. A reader takes what it lists, and nothing else: what is half uploaded is not listed yet.
"""

from __future__ import annotations

import json
import secrets
from typing import Literal

import pydantic
from pydantic import BaseModel, ConfigDict, Field, field_validator

from flatwater import __version__
from flatwater.errors import UserError
from flatwater.stores.address import Address
from flatwater.stores.names import UPLOADED, is_plain
from flatwater.stores.store import Store

#: The version of this file. A newer one is refused.
FORMAT = 1
#: 20,000 cells with five files each have some 20 MB.
BYTES_MAX = 64 << 20
_WORD = r"[0-9a-f]{32}"


class Entry(BaseModel):
    """One file of a result."""

    model_config = ConfigDict(extra="forbid")

    size: int = Field(ge=0)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    #: As the store told it after the upload.
    etag: str = ""


class Index(BaseModel):
    """What is in `uploaded.json`."""

    model_config = ConfigDict(extra="forbid")

    kind: Literal["flatwater-upload"] = "flatwater-upload"
    format: int = FORMAT
    flatwater_version: str = __version__
    #: A random word that no other run has.
    run: str = Field(pattern=f"^{_WORD}$")
    #: A random word of the call that uploads, or was the last to do so.
    holder: str = Field(pattern=f"^{_WORD}$")
    files: dict[str, Entry] = Field(default_factory=dict)

    @field_validator("files")
    @classmethod
    def _plain(cls, files: dict[str, Entry]) -> dict[str, Entry]:
        for name in files:
            if not is_plain(name):
                raise ValueError(f"{name[:80]!r} is no name of a file of a result")
        return files


def word() -> str:
    """A random word that nobody else has."""
    return secrets.token_hex(16)


def read_index(store: Store, address: Address) -> tuple[Index, str] | None:
    """The index at an address and its etag; None if there is none. Errors: UserError: damaged, hostile or newer."""
    found = store.read(address.key(UPLOADED), BYTES_MAX)
    if found is None:
        return None
    body, etag = found
    where = f"{address}/{UPLOADED}"
    damaged = "another tool wrote or changed it; flatwater touches nothing there"
    try:
        raw = json.loads(body)
    except (ValueError, RecursionError):
        raise UserError("not JSON", where=where, hint=damaged) from None
    newer = raw.get("format") if isinstance(raw, dict) else None
    if isinstance(newer, int) and newer > FORMAT:
        what = f"format {newer} is newer than this flatwater's {FORMAT}"
        raise UserError(what, where=where, hint="upgrade flatwater")
    try:
        return Index.model_validate(raw), etag
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"][:1])) or "it"
        raise UserError(f"{place}: {first['msg']}", where=where, hint=damaged) from None
