"""All results of the served folders: found again when they change, each read once, filtered and in pages."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from flatwater.errors import FlatwaterError
from flatwater.results.foreign import as_foreign
from flatwater.serve.alive import why_alive
from flatwater.serve.folders import Place, find_results, stamp_of, why_unseen
from flatwater.serve.listed import Listed, read_listed
from flatwater.serve.stored import Stored
from flatwater.serve.writers import Writers

#: Results of one page of the list.
PAGE_ROWS = 50
#: Folders are not looked through again before this time, however often the list is asked for.
FRESH_S = 2.0
#: Results left out that the page names; the rest is counted.
LEFT_OUT_SHOWN = 20
#: The most letters of a reason: a folder from another source may contain anything.
WHY_MAX = 300
#: Tags that can be chosen; a search finds each.
TAGS_SHOWN = 100
#: What a run is called that says it runs, and that nobody is seen to run.
NOT_OVER = "not over"
SORTS = ("newest", "name", "mean")


@dataclass(frozen=True)
class Query:
    """What the list is asked for. An empty word asks for nothing."""

    text: str = ""
    verdict: str = ""
    status: str = ""
    #: `broken` or `kept`.
    limits: str = ""
    #: `kernel=6.12`.
    tag: str = ""
    sort: str = "newest"
    page: int = 1

    def matches(self, one: Listed) -> bool:
        """Whether a result is asked for: all words of the text, in any order, and each choice.

        Of one that says it runs, this does not look whether it does.
        """
        return (
            (not self.verdict or self.verdict in one.verdicts)
            and (not self.status or one.status == ("running" if self.status == NOT_OVER else self.status))
            and (not self.limits or (bool(one.limits) and (self.limits == "kept") == (one.kept == one.limits)))
            and (not self.tag or self.tag in one.tag_texts)
            and all(word in one.words for word in self.text.casefold().split())
        )


@dataclass(frozen=True)
class Listing:
    """A page of the list."""

    shown: list[Listed]
    matching: int
    total: int
    page: int
    pages: int
    #: Results that are still to be read; a filter does not find them yet.
    unread: int
    #: (folder, why it is left out).
    left_out: list[tuple[str, str]]
    left_out_count: int
    #: (served folder, why it cannot be looked into).
    unseen: list[tuple[str, str]]
    #: Every verdict that there is, and the most frequent tags, for the filter.
    verdicts: list[str]
    tags: list[str]


class Catalogue:
    """The results in some folders. All methods may be called from any thread."""

    def __init__(self, roots: Sequence[Path], stored: Sequence[Stored] = ()) -> None:
        """`stored` are those of the roots that stand for addresses of a store."""
        self.roots = [root.absolute() for root in roots]
        self._stored = stored
        self._lock = threading.Lock()
        self._looking = threading.Lock()
        self._places: dict[str, Place] = {}
        self._read: dict[str, Listed] = {}
        self._left_out: dict[str, tuple[Place, str]] = {}
        self._looked_s = float("-inf")
        self._ended = False
        #: There is something to read, or the end.
        self._wake = threading.Event()

    def start(self) -> None:
        """Reads all results in the background, the newest first."""
        threading.Thread(target=self._read_all, name="catalogue", daemon=True).start()

    def end(self) -> None:
        """Ends the reading."""
        self._ended = True
        self._wake.set()

    def refresh(self) -> None:
        """Looks through the folders, unless that was just done."""
        with self._looking:
            if time.monotonic() - self._looked_s < FRESH_S:
                return
            for one in self._stored:
                one.look()
            places = {place.key: place for place in find_results(self.roots)}
            with self._lock:
                self._places = places
                self._read = {key: one for key, one in self._read.items() if _same(places.get(key), one.place)}
                self._left_out = {key: one for key, one in self._left_out.items() if _same(places.get(key), one[0])}
                news = len(self._places) > len(self._read) + len(self._left_out)
            self._looked_s = time.monotonic()
        if news:
            self._wake.set()

    def find(self, key: str) -> Listed | None:
        """The result of a key as it is now; None if there is none, or if it is left out."""
        self.refresh()
        place = self._places.get(key)
        if place is None:
            return None
        # The list may be of two seconds ago, and the run over since.
        place = replace(place, stamp=stamp_of(place.path))
        with self._lock:
            if key in self._places:
                self._places[key] = place
        return self._one(place)

    def running(self, writers: Writers) -> list[Listed]:
        """The runs under way, the one that began last first."""
        return _sorted(self.alive(self.read()[0], writers), "newest")

    def alive(self, listed: Iterable[Listed], writers: Writers) -> Iterator[Listed]:
        """Those that are under way. Of those in a store nobody knows it: only cells that are over are uploaded."""
        own = (one for one in listed if one.status == "running" and self.stored(one) is None)
        return (one for one in own if why_alive(one.place.path, writers))

    def stored(self, listed: Listed) -> Stored | None:
        """The store that a result is in; None for one of this machine."""
        return next((one for one in self._stored if one.has(listed.place.path)), None)

    def read(self) -> tuple[list[Listed], int]:
        """Everything that was read so far, and how many are still to be read, in the background."""
        self.refresh()
        with self._lock:
            listed, left_out, total = list(self._read.values()), len(self._left_out), len(self._places)
        return listed, max(0, total - left_out - len(listed))

    def _all(self) -> list[Listed]:
        """Everything that was read so far."""
        with self._lock:
            return list(self._read.values())

    def listing(self, query: Query, writers: Writers | None = None) -> Listing:
        """A page of the list. What it shows is read at once; the rest is read in the background.

        `writers` tell which runs are under way, if the query asks for that.
        """
        self.refresh()
        plain = query == Query(sort="newest", page=query.page)
        if plain:
            # Those of this page, before the background has come to them.
            for place in self._newest()[: query.page * PAGE_ROWS][-PAGE_ROWS:]:
                self._one(place)
        listed = self._all()
        matching = [one for one in listed if query.matches(one)]
        if query.status in ("running", NOT_OVER):
            under_way = {one.place.key for one in self.alive(matching, writers or Writers())}
            matching = [one for one in matching if (one.place.key in under_way) == (query.status == "running")]
        found = _sorted(matching, query.sort)
        with self._lock:
            left_out = sorted((place.name, why) for place, why in self._left_out.values())
            refused = len(left_out)
            left_out += [told for one in self._stored for told in one.left_out]
            total = len(self._places)
        pages = max(1, -(-len(found) // PAGE_ROWS))
        page = min(max(1, query.page), pages)
        return Listing(
            shown=found[(page - 1) * PAGE_ROWS : page * PAGE_ROWS],
            matching=len(found),
            total=total - refused,
            page=page,
            pages=pages,
            unread=max(0, total - len(listed) - refused),
            left_out=left_out[:LEFT_OUT_SHOWN],
            left_out_count=len(left_out),
            unseen=[
                *((str(one.address), one.why) for one in self._stored if one.why),
                *((str(root), why) for root in self.roots if (why := why_unseen(root))),
            ],
            verdicts=sorted({word for one in listed for word in one.verdicts}),
            tags=_tags(listed, query.tag),
        )

    def _newest(self) -> list[Place]:
        """The places, the last changed first: the order of the list before anything is read."""
        with self._lock:
            return sorted(self._places.values(), key=lambda place: place.stamp, reverse=True)

    def _one(self, place: Place) -> Listed | None:
        key = place.key
        with self._lock:
            known, refused = self._read.get(key), self._left_out.get(key)
        if known is not None and known.place == place:
            return known
        if refused is not None and refused[0] == place:
            return None
        try:
            found = read_listed(place)
        except FlatwaterError as error:
            self._leave_out(place, error.what)
            return None
        except Exception as error:  # noqa: BLE001 - whatever lies in a folder: it takes no other from the list
            self._leave_out(place, f"it cannot be read: {type(error).__name__}: {error}"[:WHY_MAX])
            return None
        with self._lock:
            self._read[key] = found
            self._left_out.pop(key, None)
        return found

    def _leave_out(self, place: Place, why: str) -> None:
        with self._lock:
            self._read.pop(place.key, None)
            self._left_out[place.key] = place, why

    def _read_all(self) -> None:
        with as_foreign(self.roots):
            self.refresh()
            self._read_on()

    def _read_on(self) -> None:
        while not self._ended:
            self._wake.clear()
            for place in self._newest():
                if self._ended:
                    return
                self._one(place)
            # Nothing is looked through while nobody asks: a run may be measured beside.
            self._wake.wait()


def _same(place: Place | None, known: Place) -> bool:
    return place == known


def _tags(listed: Iterable[Listed], chosen: str) -> list[str]:
    """The tags that most results have, and the chosen one."""
    counted = Counter(text for one in listed for text in one.tag_texts)
    most = {text for text, _ in counted.most_common(TAGS_SHOWN)}
    return sorted(most | {chosen} if chosen else most)


def _sorted(found: Iterable[Listed], sort: str) -> list[Listed]:
    if sort == "name":
        return sorted(found, key=lambda one: (one.title.casefold(), one.place.name))
    if sort == "mean":
        return sorted(found, key=lambda one: (one.mean is None, -(one.mean or 0.0), one.place.name))
    return sorted(found, key=lambda one: (one.created_at, one.place.name), reverse=True)
