"""What a store of objects can do, whichever it is. A store is a file beside this one, named in `registry.py`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from flatwater.errors import FlatwaterError


class StoreGone(FlatwaterError):
    """The store did not answer, or not in time: it may do so later."""


class Taken(Exception):
    """An object was to be made, or replaced, and is not (any more) what it was thought to be."""


class Missing(Exception):
    """There is no such object."""


@dataclass(frozen=True)
class Mark:
    """What is stored with each object of ours: it proves whose it is."""

    #: The run that it belongs to, a random word.
    run: str
    sha256: str


@dataclass(frozen=True)
class Found:
    """An object as the store tells of it."""

    size: int
    #: Changes when the object changes.
    etag: str
    #: None: flatwater did not write it.
    mark: Mark | None = None


class Store(Protocol):
    """Objects in one bucket, by their whole names.

    Errors of all: UserError where the user can mend it (login, bucket, permission), StoreGone where the store is away.
    """

    def head(self, key: str) -> Found | None:
        """What the store tells of an object; None if there is none."""
        ...

    def read(self, key: str, bytes_max: int) -> tuple[bytes, str] | None:
        """A small object and its etag; None if there is none."""
        ...

    def pieces(self, key: str) -> Iterator[bytes]:
        """An object piece by piece. Errors: Missing."""
        ...

    def names(self, prefix: str, most: int) -> list[tuple[str, int]]:
        """The names that begin with the prefix, with their sizes; at most so many."""
        ...

    def etags(self, prefix: str, most: int) -> dict[str, str]:
        """The names that begin with the prefix, each with what changes when the object does; at most so many."""
        ...

    def put(self, key: str, body: Path | bytes, mark: Mark, etag: str | None) -> str:
        """Makes an object as a whole, or (with an etag) replaces the object that has it; its new etag.

        Errors: Taken, with nothing written.
        """
        ...

    def delete(self, key: str) -> None:
        """Deletes an object, if there is one."""
        ...
