"""Tags of a result in a store, changed there: one object is replaced, and the list of objects follows.

The object is the change: it is written as a whole, and only over the one that was read. Who else changed tags
meanwhile is not overwritten: the change is made again, of what is there then. A reader takes an object of the run that
is newer than the list (`fetch.read_tags_object`), so that it finds the tags before or those after, whenever this ends.
Where a result has no tags yet, the list is the change. The place stays its holder's: a run that uploads goes on.
"""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from flatwater.errors import UserError
from flatwater.results.opening import read_manifest, require_result
from flatwater.results.started import shell_word
from flatwater.results.tags import TAGS, Tags, changed_tags, read_tags, tags_text
from flatwater.stores.address import Address, parse_address
from flatwater.stores.fetch import read_tags_object, write_file
from flatwater.stores.index import Entry, Index, read_index
from flatwater.stores.mirror import local_copy
from flatwater.stores.names import UPLOADED
from flatwater.stores.registry import open_store
from flatwater.stores.store import Mark, Store, Taken

#: So often is a change made again because another one came between; each time it waits a little, at random.
TRIES, WAIT_S = 20, 0.1
_MANIFEST = "flatwater.json"


def tags_at(written: Path | str) -> Tags:
    """The tags of the result at an address. Errors: UserError where there is no sound result; StoreGone."""
    return read_tags(_looked_at(written))


def change_tags_at(
    written: Path | str, given: Mapping[str, str], removed: Sequence[str] = (), note: str | None = None
) -> Tags:
    """Changes the tags of the result at an address, as `results.tags.change_tags` does of a folder.

    Errors: UserError, also for a result that flatwater did not upload; StoreGone.
    """
    folder = _looked_at(written)
    address = parse_address(written, to_write=True)
    store = open_store(address)
    owner = _owner(store, address)
    if owner is None:
        hint = f"to tag a copy: flatwater copy {shell_word(str(address))} FOLDER"
        what = "another tool copied it there, and flatwater changes nothing of it"
        raise UserError(what, where=str(address), hint=hint)
    place, index = owner
    key = address.key(TAGS)
    name = key.removeprefix(place.key(""))
    for number in range(TRIES):
        time.sleep(number and random.uniform(0, WAIT_S))
        before, etag = _read(store, address, index.run, folder)
        after = changed_tags(before, given, removed, note)
        if after != before and not _replace(store, key, after, index.run, etag):
            continue
        if after != Tags() or name in index.files:
            _list(store, place, name, index.run)
        return after
    raise UserError("is tagged by others all the time", where=str(address), hint="try again")


def _looked_at(written: Path | str) -> Path:
    """A folder here with what names the result, and its tags. Errors: UserError for what is no result; StoreGone."""
    folder = local_copy(written, lambda name: name in (_MANIFEST, TAGS)).folder
    require_result(folder)
    read_manifest(folder)
    return folder


def _owner(store: Store, address: Address) -> tuple[Address, Index] | None:
    """The place that the result is in, and its list: its own, or that of a run of many."""
    prefix = address.prefix
    while prefix:
        place = Address(address.scheme, address.bucket, prefix)
        found = read_index(store, place)
        if found is not None:
            listed = address.key(_MANIFEST).removeprefix(place.key("")) in found[0].files
            return (place, found[0]) if listed else None
        prefix = prefix.rpartition("/")[0]
    return None


def _read(store: Store, address: Address, run: str, folder: Path) -> tuple[Tags, str | None]:
    """The tags that are there, and their etag. Errors: UserError for an object that is not of the run."""
    key = address.key(TAGS)
    for _ in range(TRIES):
        if store.head(key) is None:
            return Tags(), None
        if (found := read_tags_object(store, key, run)) is not None:
            write_file(folder, TAGS, iter([found[0]]))
            return read_tags(folder), found[1]
        told = store.head(key)
        if told is not None and (told.mark is None or told.mark.run != run):
            break
    what = f"its {TAGS} is not of this run, or was changed since by another tool; nothing was overwritten"
    raise UserError(what, where=str(address))


def _replace(store: Store, key: str, tags: Tags, run: str, etag: str | None) -> bool:
    """Writes the tags over those that were read; False if others are there by now."""
    body = tags_text(tags).encode()
    mark = Mark(run, sha256(body).hexdigest())
    try:
        store.put(key, body, mark, etag)
    except Taken:
        # The answer to our own may have been lost, and the library has sent it again.
        found = store.head(key)
        return found is not None and found.mark == mark
    return True


def _list(store: Store, place: Address, name: str, run: str) -> None:
    """Lists the tags that are there by now. Errors: UserError if another run has the place; StoreGone."""
    for number in range(TRIES):
        time.sleep(number and random.uniform(0, WAIT_S))
        found, told = read_index(store, place), store.head(place.key(name))
        if found is None or found[0].run != run or told is None or told.mark is None:
            raise UserError("another run has the place by now", where=str(place))
        index, etag = found
        entry = Entry(size=told.size, sha256=told.mark.sha256, etag=told.etag)
        if index.files.get(name) == entry:
            return
        index.files[name] = entry
        body = index.model_dump_json().encode()
        try:
            store.put(place.key(UPLOADED), body, Mark(run, sha256(body).hexdigest()), etag)
        except Taken:
            continue
        return
    raise UserError("is written to by others all the time", where=str(place), hint="try again")
