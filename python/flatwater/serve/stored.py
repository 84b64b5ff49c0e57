"""Results of a store, as a folder of this machine that the list looks through.

What the list needs of each is fetched in the background, again when its objects change; a result is fetched as a whole
when somebody opens it, and a few stay. Nobody who asks for a page waits for the store longer than a moment: what was
fetched before is shown, and the page says so. Nothing is written into the store.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import threading
import time
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from hashlib import sha256
from itertools import islice, takewhile
from pathlib import Path

from flatwater.errors import FlatwaterError
from flatwater.stores import Address, StoreGone, is_small
from flatwater.stores.fetch import not_written
from flatwater.stores.mirror import OBJECTS_MAX, fetch_result, require_few, results_among
from flatwater.stores.names import UPLOADED
from flatwater.stores.registry import open_store

#: A store is not looked through again before this time, and for this part of the time only.
FRESH_S, PART = 30.0, 20.0
#: Who opens a result waits so long for it; it is fetched on, and is there when the page is loaded again.
WAIT_S = 10.0
#: Results that are fetched at once, and that wait for it; and bytes of whole results that are kept.
AT_ONCE, WAITING_MAX = 2, 16
WHOLE_BYTES_MAX = 4 << 30
_MANIFEST = "flatwater.json"


class Away(StoreGone):
    """The store has not answered yet."""


class Stored:
    """The results at and below an address. All methods may be called from any thread."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._store = open_store(address)
        try:
            self._top = Path(tempfile.mkdtemp(prefix="flatwater-serve-"))
            self.folder = self._top / (address.prefix.rpartition("/")[2] or address.bucket)
            self.folder.mkdir()
        except OSError as error:
            raise not_written(error, Path(tempfile.gettempdir())) from None
        self._lock = threading.Lock()
        self._few = threading.Semaphore(AT_ONCE)
        #: Result -> what changes when one of its objects does.
        self._versions: dict[str, str] = {}
        #: Result -> its bytes, of those that were fetched as a whole, the one that was opened last at the end.
        self._whole: OrderedDict[str, int] = OrderedDict()
        self._fetching: dict[str, Future[None]] = {}
        self._looking = False
        self._due_s = float("-inf")
        self._looked_at = 0.0
        self._why = "is still being looked through: reload in a moment"
        self._left_out: dict[str, str] = {}

    def require(self) -> None:
        """Asks the store for a name. Errors: UserError for a wrong login, a bucket that is not there; StoreGone."""
        self._store.names(self._below, 1)

    def close(self) -> None:
        """Deletes the folder."""
        shutil.rmtree(self._top, ignore_errors=True)

    @property
    def why(self) -> str:
        """Why not all is shown as it is there; empty if it is."""
        return self._why

    @property
    def left_out(self) -> list[tuple[str, str]]:
        """(result or object, why it is left out)."""
        with self._lock:
            return sorted(self._left_out.items())

    def look(self) -> None:
        """Has the store looked through in the background, unless that was just done."""
        with self._lock:
            if self._looking or time.monotonic() < self._due_s:
                return
            self._looking = True
        threading.Thread(target=self._look, name="store", daemon=True).start()

    def _look(self) -> None:
        began_s = time.monotonic()
        try:
            self._refresh()
            self._why, self._looked_at = "", time.time()
        except (FlatwaterError, OSError) as error:
            what = error.what if isinstance(error, FlatwaterError) else error.strerror
            shown = time.strftime("%H:%M:%S", time.localtime(self._looked_at))
            self._why = f"cannot be read: {what}" + (f"; what is shown is of {shown}" if self._looked_at else "")
        finally:
            took_s = time.monotonic() - began_s
            with self._lock:
                self._looking = False
                self._due_s = time.monotonic() + max(FRESH_S, PART * took_s)

    def _refresh(self) -> None:
        left_out: dict[str, str] = {}
        etags = self._store.etags(self._below, OBJECTS_MAX)
        require_few(etags, self.address)
        listed = sorted(etags.items())
        versions = {name: _version(listed, self._at(name)) for name in self._results(etags, left_out)}
        for name in self._versions.keys() - versions.keys():
            self._forget(name)
        for name, version in versions.items():
            if self._versions.get(name) != version:
                try:
                    self._fetch(name, "", is_small, left_out)
                except StoreGone:
                    raise
                except FlatwaterError as error:
                    left_out[str(self._at(name))] = error.what
                    self._forget(name)
                    continue
                with self._lock:
                    self._versions[name] = version
                    self._drop_whole(name)
        with self._lock:
            self._left_out = left_out

    def _results(self, etags: Iterable[str], left_out: dict[str, str]) -> list[str]:
        """The results and the runs of many, as names below the address; "" for the address itself."""
        keys = set(etags)
        if self.address.prefix and keys & {self.address.key(UPLOADED), self.address.key(_MANIFEST)}:
            return [""]
        return [name for name in results_among(keys, self.address, left_out) if name]

    @property
    def _below(self) -> str:
        return self.address.key("") if self.address.prefix else ""

    def _at(self, name: str) -> Address:
        return self.address.below(name) if name else self.address

    def _fetch(self, name: str, inner: str, wanted: Callable[[str], bool], left_out: dict[str, str]) -> None:
        """Fetches a result, or one of a run of many, and puts it in the place of what was fetched before."""
        below = f"{inner}/" if inner else ""
        try:
            new = Path(tempfile.mkdtemp(prefix="new-", dir=self._top))
            try:
                asked = self._at(name)
                fetch_result(self._store, asked, new, left_out, lambda file: file.startswith(below) and wanted(file))
                self._put(new / inner, self.folder / name / inner)
            finally:
                shutil.rmtree(new, ignore_errors=True)
        except OSError as error:
            raise not_written(error, self.folder) from None

    def _put(self, new: Path, place: Path) -> None:
        old = Path(tempfile.mkdtemp(prefix="old-", dir=self._top))
        place.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            place.rename(old / "x")
        new.rename(place)
        shutil.rmtree(old, ignore_errors=True)

    def _forget(self, name: str) -> None:
        with self._lock:
            self._versions.pop(name, None)
            self._drop_whole(name)
        shutil.rmtree(self.folder / name, ignore_errors=True)
        self.folder.mkdir(exist_ok=True)

    def _drop_whole(self, name: str) -> None:
        for one in [one for one in self._whole if _is_in(one, name)]:
            del self._whole[one]

    def has(self, path: Path) -> bool:
        """Whether a folder of a result is of this store."""
        return path == self.folder or self.folder in path.parents

    async def fetch_whole(self, path: Path) -> None:
        """Fetches all of a result, unless it is here. Errors: FlatwaterError; Away if that takes long."""
        name = path.relative_to(self.folder).as_posix().removeprefix(".")
        with self._lock:
            if name in self._whole:
                self._whole.move_to_end(name)
                return
            future = self._fetching.get(name)
            if future is None:
                if len(self._fetching) >= WAITING_MAX:
                    raise Away("others wait for results of the store: load the page again in a moment")
                future = self._fetching[name] = Future()
                threading.Thread(target=self._fetch_whole, args=(name, future), name="store", daemon=True).start()
        try:
            await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(future)), WAIT_S)
        except TimeoutError:
            what = f"{self._at(name)} is still being fetched: load the page again in a moment"
            raise Away(what) from None

    def _fetch_whole(self, name: str, future: Future[None]) -> None:
        error: BaseException | None = None
        try:
            with self._few:
                self._keep_whole(name)
        except Exception as failed:  # noqa: BLE001 - whoever waits for it is told, and raises it
            error = failed
        with self._lock:
            del self._fetching[name]
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)

    def _keep_whole(self, name: str) -> None:
        with self._lock:
            result = next((one for one in self._versions if _is_in(name, one)), name)
        self._fetch(result, name.removeprefix(result).lstrip("/"), lambda _: True, {})
        size = sum(one.stat().st_size for one in _files(self.folder / name))
        with self._lock:
            self._whole[name] = size
            old = self._over()
        for one in old:
            for file in _files(self.folder / one):
                if not is_small(file.name):
                    file.unlink(missing_ok=True)

    def _over(self) -> list[str]:
        """Those that are not kept any more, the ones that were opened longest ago."""
        found = []
        while sum(self._whole.values()) > WHOLE_BYTES_MAX and len(self._whole) > 1:
            found.append(self._whole.popitem(last=False)[0])
        return found


def _version(listed: Sequence[tuple[str, str]], place: Address) -> str:
    """What changes when an object of a result does. `listed` are (name, etag) of all objects, sorted."""
    below = place.key("")
    begin = bisect_left(listed, (below, ""))
    told = list(takewhile(lambda one: one[0].startswith(below), islice(listed, begin, None)))
    index = next((etag for key, etag in told if key == place.key(UPLOADED)), None)
    if index is not None:
        # Tags may be newer than the list.
        return repr((index, [(key, etag) for key, etag in told if key.endswith("/tags.json")]))
    return sha256(repr(told).encode()).hexdigest()


def _files(folder: Path) -> list[Path]:
    return [one for one in folder.rglob("*") if one.is_file()]


def _is_in(name: str, result: str) -> bool:
    """Whether a name is that of a result, or of one of a run of many."""
    return not result or f"{name}/".startswith(f"{result}/")
