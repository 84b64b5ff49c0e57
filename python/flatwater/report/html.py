"""A page of HTML that needs no other file and may not reach the network: its head, its scripts and its policy."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from flatwater import __version__
from flatwater.printing import printable
from flatwater.report.figure import DARK, PLOTLY, TEMPLATE, Figure

#: The mark in the head of every page (templates/_head.html).
SIGNATURE = '<meta name="generator" content="flatwater '

#: What draws charts, in this order; every page with charts has them.
CHART_SCRIPTS = ("charts.js", "closer.js", "together.js")


@dataclass(frozen=True)
class Script:
    """An inline script, and the hash by which the page's policy lets it run."""

    text: Markup
    source: str


def rendered(
    template: str,
    *,
    title: str,
    figures: Sequence[Figure],
    scripted: bool = True,
    home: str = "",
    spans: str = "",
    resume: str = "",
    **parts: object,
) -> str:
    """The page of `template` as text, with `figures` as the charts that stand before those of the cells.

    `scripted` is false for a page without charts: it has no script. `home` is where its link to all runs leads, if
    `flatwater serve` shows the page; `spans` is where its charts then ask for more points of the time that is looked
    at. Without it, the page may reach nothing. `resume` is where its button
    sends who wants the run to go on. `parts` is what else the template names.
    """
    scripts = _scripts() if scripted else []
    return (
        environment("flatwater.report")
        .get_template(template)
        .render(
            policy=_policy(scripts, asks=bool(spans), acts=bool(resume)),
            css=Markup(text_of("page.css")),  # noqa: S704 ours
            scripts=scripts,
            title=title,
            home=home,
            spans=spans,
            resume=resume,
            report_data=page_data(figures),
            version=__version__,
            **parts,
        )
    )


def page_data(figures: Sequence[Figure] = ()) -> Markup:
    """What charts.js draws from: the style of all charts, and the figures before those of the cells."""
    return embedded({"template": TEMPLATE, "dark": DARK, "sweep": [figure.as_json() for figure in figures]})


def page_policy(*, scripted: bool = True, asks: bool = False, acts: bool = False) -> str:
    """The policy of a page, as the header `Content-Security-Policy` has it.

    `asks` for one that has `spans`, `acts` for one with a button.
    """
    return _policy(_scripts() if scripted else [], asks=asks, acts=acts)


@cache
def _scripts() -> list[Script]:
    return [_script("errors.js"), _plotly(), _script(*CHART_SCRIPTS, "page.js")]


def _policy(scripts: list[Script], *, asks: bool, acts: bool) -> str:
    """What the page may do: run these scripts, and reach nothing, or if it `asks`, the server that it came from.

    If it `acts`, its forms go there, too.
    """
    target = "'self'" if acts else "'none'"
    allowed = " ".join(script.source for script in scripts) or "'none'"
    return (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; "
        f"form-action {target}; "
        f"script-src {allowed}" + ("; connect-src 'self'" if asks else "")
    )


def embedded(value: Any) -> Markup:
    """JSON for a <script type="application/json">: nothing in it can end the script or begin markup."""
    text = json.dumps(seen(value), separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))  # noqa: S704


def seen(value: Any) -> Any:
    """The same JSON with the texts as `_visible` has them, the names of its fields among them: charts draw them."""
    if isinstance(value, dict):
        return {_visible(name): seen(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [seen(one) for one in value]
    return _visible(value)


def _visible(value: object) -> object:
    """Text from outside without what acts unseen: escape bytes, and signs that turn the direction of writing."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@cache
def environment(package: str) -> Environment:
    """The templates of a package: they escape all text, and show what would act unseen."""
    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        finalize=_visible,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def text_of(name: str) -> str:
    """A file of the templates: page.css, errors.js, page.js, one of `CHART_SCRIPTS`."""
    return resources.files("flatwater.report").joinpath("templates", name).read_text("utf-8")


def _script(*names: str) -> Script:
    return _allowed("".join(text_of(name) for name in names))


def _plotly() -> Script:
    return _allowed(PLOTLY.read_text("utf-8"))


def _allowed(text: str) -> Script:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return Script(Markup(text), f"'sha256-{digest}'")  # noqa: S704 ours, or plotly's
