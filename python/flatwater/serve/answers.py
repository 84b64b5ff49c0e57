"""Pages as answers."""

from __future__ import annotations

from starlette.responses import Response

from flatwater import __version__
from flatwater.report.html import environment
from flatwater.serve.guard import POLICY


def page(template: str, policy: str = POLICY, status: int = 200, **parts: object) -> Response:
    """A page from a template."""
    text = environment("flatwater.serve").get_template(template).render(version=__version__, **parts)
    return Response(text, status, {"Content-Security-Policy": policy}, "text/html")


def message(status: int, text: str) -> Response:
    """A page that says one thing."""
    return page("message.html", status=status, text=text)
