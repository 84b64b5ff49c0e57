"""The scripts and styles of the pages."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import lru_cache
from importlib import resources
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from flatwater.report.figure import PLOTLY
from flatwater.report.html import CHART_SCRIPTS, text_of
from flatwater.serve.answers import message

_TYPES = {".css": "text/css", ".js": "text/javascript"}


def _own(name: str) -> Callable[[], str]:
    return lambda: resources.files("flatwater.serve").joinpath("static", name).read_text("utf-8")


def _of_report(name: str) -> Callable[[], str]:
    return lambda: text_of(name)


#: Every file that can be asked for, by its name.
STATIC: dict[str, Callable[[], str]] = {
    "page.css": _of_report("page.css"),
    "errors.js": _of_report("errors.js"),
    **{name: _of_report(name) for name in CHART_SCRIPTS},
    "plotly.js": lambda: PLOTLY.read_text("utf-8"),
    "serve.css": _own("serve.css"),
    "list.js": _own("list.js"),
    "feed.js": _own("feed.js"),
    "live.js": _own("live.js"),
    "ready.js": _own("ready.js"),
}


def static(request: Request) -> Response:
    """A file. The browser asks each time whether it is the same: after an upgrade, no old script meets a new page."""
    name = request.path_params["name"]
    if name not in STATIC:
        return message(404, "There is no such page.")
    content, tag = _read(STATIC[name])
    headers = {"Cache-Control": "private, no-cache", "ETag": tag}
    known = [one.strip().removeprefix("W/") for one in request.headers.get("if-none-match", "").split(",")]
    if tag in known:
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type=_TYPES[Path(name).suffix])


@lru_cache(maxsize=len(STATIC))
def _read(source: Callable[[], str]) -> tuple[bytes, str]:
    """A file, as it was when it was first asked for, and what names its content."""
    content = source().encode()
    return content, f'"{hashlib.sha256(content).hexdigest()[:32]}"'
