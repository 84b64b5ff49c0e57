"""The addresses, and what each answers."""

from __future__ import annotations

import gzip
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from flatwater.errors import FlatwaterError
from flatwater.report.html import CHART_SCRIPTS, page_data, page_policy
from flatwater.results.foreign import as_foreign
from flatwater.results.tags import NAME_CHARACTERS_MAX, VALUE_CHARACTERS_MAX
from flatwater.serve import documents, trends
from flatwater.serve.answers import message, page
from flatwater.serve.catalogue import NOT_OVER, SORTS, Catalogue, Query
from flatwater.serve.drawn import Drawn
from flatwater.serve.files import static
from flatwater.serve.guard import POLICY, Access, Guard
from flatwater.serve.hub import Hub, TooMany
from flatwater.serve.launch.launcher import Launcher
from flatwater.serve.launch.pages import LaunchPages, may_resume, own
from flatwater.serve.listed import Listed
from flatwater.serve.metrics import CONTENT_TYPE, Metrics
from flatwater.serve.stored import Away
from flatwater.stores import StoreGone

#: Results of one comparison at most.
COMPARED_MAX = 12
#: The most letters of a search.
TEXT_MAX = 200
#: The most letters of a tag.
TAG_MAX = NAME_CHARACTERS_MAX + 1 + VALUE_CHARACTERS_MAX
#: Statuses and limits that can be filtered for.
STATUSES = ("running", NOT_OVER, "complete", "interrupted", "failed")
LIMITS = ("kept", "broken")
_EVENTS = "text/event-stream"
#: plotly sets styles of its own.
_LIVE_POLICY = POLICY.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'").replace(
    "img-src 'self' data:", "img-src 'self' data: blob:"
)


def make_app(catalogue: Catalogue, hub: Hub, access: Access, launcher: Launcher | None = None) -> ASGIApp:
    """The application: it shows the results of `catalogue` and what `hub` hears of runs to whom `access` lets in.

    With a `launcher`, they may start runs, and stop those.
    """
    pages = Pages(catalogue, hub, launcher)
    routes = [
        Route("/", pages.list),
        Route("/run/{key}", pages.report),
        Route("/run/{key}/live", pages.live),
        Route("/run/{key}/events", pages.events),
        Route("/run/{key}/span", pages.span),
        Route("/run/{key}/sparkline.svg", pages.sparkline),
        Route("/compare", pages.compare),
        Route("/cost", pages.cost),
        Route("/published", pages.published),
        Route("/trend", pages.trend),
        Route("/metrics", pages.metrics),
        Route("/static/{name}", static),
        *(LaunchPages(launcher, catalogue).routes() if launcher is not None else ()),
    ]
    handlers: Mapping[type[Exception] | int, Callable[[Request, Exception], Response]] = {
        404: lambda request, error: message(404, "There is no such page."),
        FlatwaterError: _told,
    }
    app = Starlette(routes=routes, exception_handlers=handlers, middleware=[Middleware(Guard, access=access)])
    return AsForeign(app, catalogue.roots)


class AsForeign:
    """Answers as another application does. What the answer reads of a result is somebody else's, also in threads."""

    def __init__(self, app: ASGIApp, roots: Sequence[Path]) -> None:
        self._app = app
        self._roots = roots

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        with as_foreign(self._roots):
            await self._app(scope, receive, send)


class Pages:
    """The answers."""

    def __init__(self, catalogue: Catalogue, hub: Hub, launcher: Launcher | None = None) -> None:
        self._catalogue = catalogue
        self._hub = hub
        self._drawn = Drawn()
        self._metrics = Metrics()
        self._launcher = launcher

    async def list(self, request: Request) -> Response:
        """The list of results."""
        query = query_of(request.query_params)
        listing = await run_in_threadpool(self._catalogue.listing, query, self._hub.writers)

        def page_at(number: int) -> str:
            return "?" + str(request.url.include_query_params(page=number).query)

        running = await run_in_threadpool(self._running, listing.shown)
        return page(
            "list.html",
            listing=listing,
            query=query,
            sorts=SORTS,
            statuses=STATUSES,
            limits=LIMITS,
            running=running,
            may_run=self._launcher is not None,
            page_at=page_at,
        )

    def _running(self, shown: Sequence[Listed]) -> set[str]:
        """The keys of those that are under way."""
        return {one.place.key for one in self._catalogue.alive(shown, self._hub.writers)}

    async def report(self, request: Request) -> Response:
        """The report of a result, or of what a run has recorded so far."""
        listed = await self._find_whole(request.path_params["key"])
        resumed = listed.status in ("interrupted", "failed") and may_resume(self._launcher, listed)
        packed = await run_in_threadpool(partial(self._drawn.report, listed, resumed=resumed))
        return _packed(request, packed, page_policy(asks=True, acts=resumed))

    async def sparkline(self, request: Request) -> Response:
        """The small line of a result."""
        listed = await self._find(request.path_params["key"])
        picture = await run_in_threadpool(self._drawn.sparkline, listed)
        # One of a store has no line until it was opened.
        stays = listed.status != "running" and self._catalogue.stored(listed) is None
        headers = {"Cache-Control": "private, max-age=3600"} if stays else None
        return Response(picture, media_type="image/svg+xml", headers=headers)

    async def compare(self, request: Request) -> Response:
        """Results against the first that was chosen."""
        keys = list(dict.fromkeys(request.query_params.getlist("run")))
        if not 2 <= len(keys) <= COMPARED_MAX:
            return message(400, f"Choose two results or more to compare, and at most {COMPARED_MAX}.")
        found = [await self._find_whole(key) for key in keys]
        packed = await run_in_threadpool(self._drawn.comparison, found)
        return _packed(request, packed, page_policy())

    async def cost(self, request: Request) -> Response:
        """What results cost."""
        keys = list(dict.fromkeys(request.query_params.getlist("run")))
        if not 1 <= len(keys) <= COMPARED_MAX:
            return message(400, f"Choose at least one result, and at most {COMPARED_MAX}.")
        found = [await self._find_whole(key) for key in keys]
        packed = await run_in_threadpool(self._drawn.document, "cost", documents.cost, found)
        return _packed(request, packed, page_policy())

    async def published(self, request: Request) -> Response:
        """What was published, beside the newest run of each experiment."""
        listed, unread = await run_in_threadpool(self._catalogue.read)
        found = documents.newest_published(listed)
        draw = partial(documents.published, unread=unread)
        packed = await run_in_threadpool(self._drawn.document, f"published, {unread} unread", draw, found)
        return _packed(request, packed, page_policy(scripted=False))

    async def trend(self, request: Request) -> Response:
        """The experiments that were repeated, or the trend of one."""
        listed, unread = await run_in_threadpool(self._catalogue.read)
        name = request.query_params.get("name")
        if name is None:
            told = documents.still_read(unread)
            return page("trends.html", repeated=trends.repeated(listed), told=told[0].text if told else "")
        found = trends.chosen(listed, name)
        if not found:
            return message(404, "No run of this experiment is here.")
        packed = await run_in_threadpool(self._drawn.document, "trend", trends.trend, found)
        return _packed(request, packed, page_policy())

    async def live(self, request: Request) -> Response:
        """The page of a run under way."""
        listed = await self._find(request.path_params["key"])
        if listed.status != "running" or self._catalogue.stored(listed) is not None:
            # Nothing more comes: whoever loads the page again is led to what there is.
            return RedirectResponse(f"/run/{listed.place.key}", 303)
        return page(
            "live.html",
            _LIVE_POLICY,
            listed=listed,
            data=page_data(),
            scripts=CHART_SCRIPTS,
            child=own(self._launcher, listed.place.key),
            may_resume=may_resume(self._launcher, listed),
        )

    async def events(self, request: Request) -> Response:
        """What a run records, as server-sent events."""
        listed = await self._find(request.path_params["key"])
        if self._catalogue.stored(listed) is not None:
            raise NotServed("A store has no seconds of a run under way: its report has what was uploaded.")
        if request.method == "HEAD":
            return Response(media_type=_EVENTS)
        messages = await self._hub.messages(listed.place.key, listed.place.path)
        return StreamingResponse(messages, media_type=_EVENTS, headers={"X-Accel-Buffering": "no"})

    async def span(self, request: Request) -> Response:
        """The lines of the time that a viewer looks at: of the cell under way as it is watched, else of the result."""
        listed = await self._find_whole(request.path_params["key"])
        asked = span_of(request.query_params)
        if asked is None:
            return message(400, "A span is a cell and two times in seconds, from the earlier to the later.")
        found = await self._hub.span(listed.place.key, *asked)
        if found is None:
            found = await run_in_threadpool(self._drawn.span, listed, *asked)
        if found is None:
            return message(404, "The run has no such cell.")
        return Response(found, media_type="application/json")

    async def metrics(self, request: Request) -> Response:
        """The runs under way, for Prometheus."""
        running = await run_in_threadpool(self._catalogue.running, self._hub.writers)
        text = await run_in_threadpool(self._metrics.text, [one.place for one in running])
        return Response(text, headers={"Content-Type": CONTENT_TYPE})

    async def _find(self, key: str) -> Listed:
        found = await run_in_threadpool(self._catalogue.find, key)
        if found is None:
            raise NotServed("This result is not here (any more), or cannot be read: the list says why.")
        return found

    async def _find_whole(self, key: str) -> Listed:
        """A result with all its files here. Errors: FlatwaterError where a store does not give them."""
        listed = await self._find(key)
        stored = self._catalogue.stored(listed)
        if stored is not None:
            await stored.fetch_whole(listed.place.path)
        return listed


class NotServed(FlatwaterError):
    """There is no such result."""


def query_of(asked: Mapping[str, str]) -> Query:
    """What an address asks the list for; what it cannot be asked for is left out."""

    def choice(name: str, choices: tuple[str, ...]) -> str:
        told = asked.get(name, "")
        return told if told in choices else ""

    number = asked.get("page", "1")
    return Query(
        text=asked.get("q", "")[:TEXT_MAX],
        verdict=asked.get("verdict", "")[:TEXT_MAX],
        status=choice("status", STATUSES),
        limits=choice("limits", LIMITS),
        tag=asked.get("tag", "")[:TAG_MAX],
        sort=choice("sort", SORTS) or SORTS[0],
        page=int(number) if _is_number(number) else 1,
    )


def span_of(asked: Mapping[str, str]) -> tuple[int, float, float] | None:
    """The cell and the seconds of its time that an address asks for."""
    cell = asked.get("cell", "")
    try:
        start_s, end_s = float(asked.get("from", "")), float(asked.get("to", ""))
    except ValueError:
        return None
    if not (_is_number(cell) and math.isfinite(start_s) and math.isfinite(end_s) and start_s < end_s):
        return None
    return int(cell), start_s, end_s


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 9


def _told(request: Request, error: Exception) -> Response:
    assert isinstance(error, FlatwaterError)
    hint = f" ({error.hint})" if error.hint else ""
    status = {NotServed: 404, TooMany: 503, StoreGone: 503, Away: 503}.get(type(error), 500)
    return message(status, f"{error.what}{hint}")


def _packed(request: Request, packed: bytes, policy: str) -> Response:
    """A compressed page, for a browser that takes it so (all do)."""
    headers = {"Content-Security-Policy": f"{policy}; frame-ancestors 'none'", "Vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(packed, 200, headers | {"Content-Encoding": "gzip"}, "text/html")
    return Response(gzip.decompress(packed), 200, headers, "text/html")
