"""Whose a place in a store is: claimed with the first object, before anything is measured."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from flatwater.errors import UserError
from flatwater.results.create import make_folders, undo
from flatwater.results.started import UPLOAD, shell_word
from flatwater.results.tags import TAGS
from flatwater.stores.address import Address
from flatwater.stores.fetch import fetch_new
from flatwater.stores.index import BYTES_MAX, Entry, Index, read_index, word
from flatwater.stores.names import UPLOADED
from flatwater.stores.registry import open_store
from flatwater.stores.state import State, read_state, write_state
from flatwater.stores.store import Mark, Store, Taken

#: So many names tell what is in the way.
_NAMED = 3
#: So often is the list written again because somebody has changed tags just then.
_TRIES = 5


@dataclass
class Claim:
    """A place that this call may upload to."""

    store: Store
    address: Address
    folder: Path
    index: Index
    etag: str
    #: What was made here for it.
    made: list[Path] = field(default_factory=list)
    #: Whether the list in the store is older than this one.
    changed: bool = False

    @property
    def run(self) -> str:
        """The random word of the run."""
        return self.index.run

    @property
    def files(self) -> dict[str, Entry]:
        """What is there of the run."""
        return self.index.files

    def add(self, name: str, entry: Entry) -> None:
        """Notes a file that is there."""
        self.index.files[name] = entry
        self.changed = True

    def drop(self, name: str) -> None:
        """Forgets a file that is not needed there any more."""
        del self.index.files[name]
        self.changed = True

    def require(self) -> None:
        """Errors: UserError if another call has the place by now; StoreGone."""
        found = self.store.head(self.address.key(UPLOADED))
        if found is None or found.etag != self.etag:
            self._take_tags()

    def write(self) -> None:
        """Writes the list, if no other call has the place since. Errors: UserError, StoreGone."""
        for _ in range(_TRIES):
            try:
                self.etag = _put(self.store, self.address, self.index, self.etag)
            except Lost:
                self._take_tags()
            else:
                self.changed = False
                return
        raise Lost(self.address)

    def _take_tags(self) -> None:
        """Takes over what `flatwater tag` of the address has listed meanwhile: it leaves the place to its holder.

        Errors: UserError if another call has the place; StoreGone.
        """
        there = read_index(self.store, self.address)
        if there is None or (there[0].run, there[0].holder) != (self.index.run, self.index.holder):
            raise Lost(self.address)
        tags = {name: entry for name, entry in there[0].files.items() if name.rpartition("/")[2] == TAGS}
        self.index.files.update(tags)
        self.etag = there[1]

    def release(self) -> None:
        """Takes it back, if nothing came of it. Errors: UserError, StoreGone."""
        if self.files:
            return
        key = self.address.key(UPLOADED)
        found = self.store.head(key)
        if found is not None and found.etag == self.etag:
            self.store.delete(key)
        names = {entry.name for entry in self.folder.iterdir()} if self.folder.is_dir() else set()
        if names <= {UPLOAD}:
            undo([*self.made, self.folder / UPLOAD])


def claim_new(address: Address, folder: Path) -> Claim:
    """Claims an empty place for a folder. Errors: UserError where the place is not empty; StoreGone, OSError."""
    store = open_store(address)
    found = store.names(address.key(""), _NAMED + 1)
    if any(key == address.key(UPLOADED) for key, _ in found) or read_index(store, address) is not None:
        hint = f"another place, or to go on with that run: flatwater resume {shell_word(str(address))}"
        raise UserError("holds a run already", where=str(address), hint=hint)
    _require_empty(address, found)
    _require_outside(store, address)
    return _begin(store, address, folder, word())


def claim_again(address: Address, folder: Path) -> Claim:
    """Claims the place of an earlier run, for going on with it in a folder. What is missing here is fetched.

    Errors: UserError where the two are not of the same run; StoreGone, OSError.
    """
    store = open_store(address)
    there, here = read_index(store, address), read_state(folder, address)
    if there is None:
        _require_empty(address, store.names(address.key(""), _NAMED + 1))
        return _begin(store, address, folder, here.run if here is not None else word())
    index, etag = there
    if here is None:
        fetch_new(store, address, index, folder)
        here = State(url=str(address), run=index.run, holders=[index.holder])
    if here.run != index.run:
        what = f"holds another run than {folder}"
        raise UserError(what, where=str(address), hint="move the folder away, or choose another place")
    if index.holder not in here.holders:
        what = f"another machine, or another folder, went on with it since {folder} was uploaded"
        raise UserError(what, where=str(address), hint="move the folder away, and resume: what is there is fetched")
    index.holder = word()
    # Written here first: a kill between the two leaves a word too many here, which harms nothing.
    here.holders.append(index.holder)
    write_state(folder, here)
    return Claim(store, address, folder, index, _put(store, address, index, etag))


def _begin(store: Store, address: Address, folder: Path, run: str) -> Claim:
    index = Index(run=run, holder=word())
    made = make_folders(folder)
    try:
        before = read_state(folder, address)
        holders = [*before.holders, index.holder] if before is not None and before.run == run else [index.holder]
        write_state(folder, State(url=str(address), run=run, holders=holders))
        return Claim(store, address, folder, index, _put(store, address, index, None), made)
    except BaseException:
        if not any(entry.name != UPLOAD for entry in folder.iterdir()):
            with suppress(OSError):
                (folder / UPLOAD).unlink()
        undo(made)
        raise


def _put(store: Store, address: Address, index: Index, etag: str | None) -> str:
    """Writes the list of a place. Errors: UserError where another one has it now."""
    body = index.model_dump_json().encode()
    key = address.key(UPLOADED)
    try:
        made = store.put(key, body, Mark(index.run, sha256(body).hexdigest()), etag)
        found = store.read(key, BYTES_MAX)
    except Taken:
        # The answer to our own may have been lost, and the library has sent it again.
        found = store.read(key, BYTES_MAX)
        made = found[1] if found is not None else ""
    if found is None or found[0] != body:
        raise Lost(address)
    return made


class Lost(UserError):
    """Another one has the place."""

    def __init__(self, address: Address) -> None:
        hint = "nothing of the other was overwritten; `flatwater resume` goes on with that one"
        what = "another run has the place, or another call goes on with this one"
        super().__init__(what, where=str(address), hint=hint)


def _require_outside(store: Store, address: Address) -> None:
    """Errors: UserError for a place inside that of another run; StoreGone."""
    above = address.prefix
    while above := above.rpartition("/")[0]:
        outer = Address(address.scheme, address.bucket, above)
        try:
            there = store.head(outer.key(UPLOADED)) is not None
        except UserError:  # who may see the own place only sees no other
            continue
        if there:
            raise UserError(f"lies in the place of a run, {outer}", where=str(address), hint="another place")


def _require_empty(address: Address, found: list[tuple[str, int]]) -> None:
    """Errors: UserError that names what is in the way."""
    if not found:
        return
    begin = len(address.key(""))
    names = ", ".join(repr(key[begin:])[1:-1][:60] for key, _ in found[:_NAMED])
    more = ", ..." if len(found) > _NAMED else ""
    hint = "another place: flatwater never writes where others have"
    raise UserError(f"holds other objects ({names}{more})", where=str(address), hint=hint)
