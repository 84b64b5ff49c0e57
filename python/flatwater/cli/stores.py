"""What the verbs share that take results in object stores: `s3://BUCKET/PREFIX`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec

if TYPE_CHECKING:
    from flatwater.results.tags import Tags
    from flatwater.stores import Address
    from flatwater.stores.upload import Upload

#: A run uploads its finished cells so often at most, for so long, and for a small part of its time only.
EVERY_S, PATIENCE_S, PART = 60.0, 30.0, 20.0


P = ParamSpec("P")


class Wanted(Enum):
    """What a verb reads of an address."""

    #: One result with all its files.
    WHOLE = "whole"
    #: All results at and below the address, with all their files.
    ALL = "all"
    #: The same without series and journals.
    ALL_SMALL = "all, small files"


def fetched(written: object, wanted: Wanted) -> object:
    """The folder that stands for an address; all else as it is. Errors: UserError, StoreGone, FlatwaterError."""
    from flatwater.printing import make_console
    from flatwater.stores import is_address, is_small, local_copy

    if not isinstance(written, Path | str) or not is_address(written):
        return written
    several = wanted is not Wanted.WHOLE
    with make_console(stderr=True).status("fetching..."):
        if wanted is Wanted.ALL_SMALL:
            mirror = local_copy(written, is_small, several=True)
        else:
            mirror = local_copy(written, several=several)
    for name, why in mirror.left_out.items():
        print(f"left out: {' '.join(f'{name}: {why}'.split())}", file=sys.stderr)
    return mirror.folder if isinstance(written, Path) else str(mirror.folder)


def refuse(written: Path) -> None:
    """Errors: UserError for an address where only a path of this machine will do."""
    from flatwater.errors import UserError
    from flatwater.results.started import shell_word
    from flatwater.stores import is_address, parse_address

    if is_address(written):
        address = parse_address(written)
        name = address.prefix.rpartition("/")[2] or address.bucket
        hint = f"for a result: flatwater copy {shell_word(str(address))} {shell_word(name)}, and that folder instead"
        raise UserError("this takes a path of this machine", where=str(address), hint=hint)


@dataclass
class Place:
    """Where a run puts its result: a folder, and perhaps a place in a store that the folder is uploaded to."""

    #: None: a new one below `results/`.
    folder: Path | None
    upload: Upload | None = None
    #: Is told what the user should know while the run goes on.
    note: Callable[[str], None] = lambda _: None
    #: The times of the last upload, on a clock that nobody sets.
    _due_s: float = 0.0
    _failed: bool = False

    def between_cells(self) -> None:
        """Uploads the cells that are over, if it is time. What goes wrong is told once, and tried again at the end."""
        from flatwater.errors import FlatwaterError

        if self.upload is None or self._failed or time.monotonic() < self._due_s:
            return
        began_s = time.monotonic()
        try:
            self.upload.sync(whole=False, patience_s=PATIENCE_S)
        except (FlatwaterError, OSError) as error:
            self._failed = True
            self.note(f"{error}; the run goes on, and {self.upload.folder} has all of it")
        took_s = time.monotonic() - began_s
        self._due_s = time.monotonic() + max(EVERY_S, PART * took_s)

    def after(self, on_cell: Callable[P, None]) -> Callable[P, None]:
        """What is called after each cell, and then `between_cells`."""

        def call(*given: P.args, **named: P.kwargs) -> None:
            on_cell(*given, **named)
            self.between_cells()

        return call

    @property
    def address(self) -> str | None:
        """The place in the store; None if there is none."""
        return None if self.upload is None else str(self.upload.address)


@contextmanager
def result_place(out: Path | None, *, resume: bool) -> Iterator[Place]:
    """Where a run puts its result. An address is claimed before, and the folder is uploaded to it afterwards, however
    the run ended.

    Errors: UserError, StoreGone before anything is done; then FlatwaterError if the result did not reach the store.
    """
    from flatwater.results.lock import require_not_run
    from flatwater.stores import is_address, parse_address

    address = None
    if out is not None and is_address(out):
        address = parse_address(out, to_write=True)
        out = folder_for(address)
    elif out is not None and resume:
        address = _begun_for(out)
    if out is not None and resume:
        require_not_run(out)  # before anything is uploaded beside the run
    if address is None:
        yield Place(out)
        return
    assert out is not None
    place = Place(out, claim(address, out, again=resume))
    try:
        yield place
    except BaseException:
        _upload_beside(place)
        raise
    upload_now(place.upload)


def folder_for(address: Address) -> Path:
    """The folder here whose result is uploaded to an address: the same each time, for going on with it."""
    return Path("results") / address.scheme / address.bucket / address.prefix


def is_stored(written: Path) -> bool:
    """Whether an argument is the address of a store."""
    from flatwater.stores import is_address

    return is_address(written)


def warn_of_own_tags(written: Path, tags: Tags) -> None:
    """Tells of the folder here that was uploaded to an address and has other tags than those: uploaded again, it would
    bring them there.
    """
    from flatwater.errors import UserError
    from flatwater.results.started import shell_word
    from flatwater.results.tags import TAGS, read_tags
    from flatwater.stores import parse_address
    from flatwater.stores.state import read_state

    address = parse_address(written)
    folder = folder_for(address)
    try:
        other = (folder / TAGS).exists() and read_tags(folder) != tags and read_state(folder, address) is not None
    except UserError:
        return
    if other:
        told = f"{shell_word(str(folder))} was uploaded there and has other tags, which it would bring there again"
        print(f"note: {told} (flatwater resume, flatwater copy)", file=sys.stderr)


def folder_to_resume(result: Path) -> Path:
    """The folder in which a run is gone on with; that of an address is fetched where it is not here.

    Errors: UserError, StoreGone.
    """
    from flatwater.stores import is_address, parse_address

    if not is_address(result):
        return result
    from flatwater.stores.state import read_state

    address = parse_address(result, to_write=True)
    folder = folder_for(address)
    if read_state(folder, address) is None:
        fetch_uploaded(address, folder)
    return folder


def fetch_uploaded(address: Address, folder: Path) -> None:
    """Makes a new folder of the result at an address. Errors: UserError, also if flatwater uploaded none; StoreGone."""
    from flatwater.errors import UserError
    from flatwater.stores.fetch import fetch_new
    from flatwater.stores.index import read_index
    from flatwater.stores.registry import open_store

    store = open_store(address)
    found = read_index(store, address)
    if found is None:
        hint = "`flatwater ls` of the address lists what is below it; what other tools copied, they fetch too"
        raise UserError("flatwater uploaded no result there", where=str(address), hint=hint)
    fetch_new(store, address, found[0], folder)


def _begun_for(folder: Path) -> Address | None:
    """Where a run was begun that is gone on with in its folder."""
    from flatwater.stores import parse_address
    from flatwater.stores.state import first_url

    url = first_url(folder)
    return parse_address(url, to_write=True) if url is not None else None


def claim(address: Address, folder: Path, *, again: bool) -> Upload:
    """Claims an address for a folder; `again`: the one that the folder has already. Errors: UserError, StoreGone."""
    from flatwater.errors import UserError
    from flatwater.stores.claim import claim_again, claim_new
    from flatwater.stores.upload import Upload

    try:
        return Upload((claim_again if again else claim_new)(address, folder))
    except OSError as error:
        raise UserError(f"cannot be used: {error.strerror}", where=str(folder)) from None


def _upload_beside(place: Place) -> None:
    """Uploads what a run left that did not end well. Its own error is what the user is told first."""
    from flatwater.errors import FlatwaterError
    from flatwater.results.unmeasured import is_unmeasured

    assert place.upload is not None
    folder = place.upload.folder
    begun = any((folder / name).exists() for name in ("flatwater.json", "experiments.json"))
    if not begun or is_unmeasured(folder):
        # The next run may have the place. What is in the folder tells why this one failed.
        with suppress(FlatwaterError, OSError):
            place.upload.release()
        return
    try:
        upload_now(place.upload)
    except (FlatwaterError, KeyboardInterrupt) as second:
        print(f"warning: {second or f'{place.upload.address} does not have all of it'}", file=sys.stderr)


def upload_now(upload: Upload | None) -> None:
    """Uploads all of a result. Errors: FlatwaterError that says where it is and how to upload it later; Interrupted."""
    from flatwater.errors import FlatwaterError, Interrupted
    from flatwater.results.started import shell_word

    if upload is None:
        return
    command = f"flatwater copy {shell_word(str(upload.folder))} {shell_word(str(upload.address))}"
    kept = f"what was measured is whole in {upload.folder}"
    try:
        upload.sync(whole=True)
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted while it was uploaded; {kept}", hint=f"later: {command}") from None
    except OSError as error:
        what = f"it cannot be read for its upload: {error.strerror}; {kept}"
        raise FlatwaterError(what, where=str(upload.address), hint=f"later: {command}") from None
    except FlatwaterError as error:
        raise FlatwaterError(
            f"not uploaded: {error.what}; {kept}", where=error.where, hint=f"later: {command}"
        ) from None
