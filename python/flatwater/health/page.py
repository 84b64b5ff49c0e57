"""A checkup as a page that needs no other file and no script, or as Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path

from flatwater import __version__
from flatwater.errors import UserError
from flatwater.health.checkup import Checkup
from flatwater.health.evidence import Drive
from flatwater.health.text import drive_rows, finding_line, headline, unseen_lines
from flatwater.owned import write_atomic
from flatwater.report.document import is_markdown, require_document_place

#: The marks of what flatwater wrote, so that it may write it again.
SIGNATURE = '<meta name="generator" content="flatwater '
MARKDOWN_SIGNATURE = "<!-- flatwater health "
_CSS = """\
:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:860px;padding:0 1em}
h1{font-size:1.5em}h2{font-size:1.1em;margin:1.6em 0 .3em}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:.2em .8em .2em 0;text-align:left;border-bottom:1px solid #8884;vertical-align:top}
th{font-weight:normal;opacity:.75;white-space:nowrap}
.level{font-weight:bold}.critical .level{color:#c02626}.warning .level{color:#a35a00}.ok .level{color:#1a7f37}
@media (prefers-color-scheme:dark){
.critical .level{color:#ff7b72}.warning .level{color:#e3b341}.ok .level{color:#56d364}}
"""


def require_place(out: Path, *, force: bool = False) -> None:
    """Makes sure that the page may be written, before any drive is asked. Errors: UserError."""
    require_document_place(out, (SIGNATURE, MARKDOWN_SIGNATURE), force=force)


def write_out(checkup: Checkup, out: Path, *, force: bool = False) -> None:
    """Writes a page (.html) or Markdown (.md). It replaces what flatwater wrote, and other files only with `force`.

    Errors: UserError.
    """
    require_place(out, force=force)
    try:
        write_atomic(out, (markdown if is_markdown(out) else page)(checkup), durable=False)
    except OSError as error:
        raise UserError(f"cannot write it: {error.strerror}", where=str(out), hint="give another --out") from None


def page(checkup: Checkup) -> str:
    """The whole page as text."""
    return "\n".join(_page(checkup)) + "\n"


def _page(checkup: Checkup) -> Iterator[str]:
    policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    yield "<!doctype html>"
    yield '<html lang="en"><head><meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    yield f'{SIGNATURE}{escape(__version__)}"><meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>The health of drives</title><style>{_CSS}</style></head><body><main>"
    yield "<h1>The health of drives</h1>"
    level = escape(checkup.level, quote=True)
    yield f'<p class="{level}"><span class="level">{level.upper()}</span>: {escape(headline(checkup))}</p>'
    if checkup.findings:
        yield "<h2>Findings</h2><ul>"
        for finding in checkup.findings:
            word, text = finding_line(finding).split(": ", 1)
            kind = escape(finding.level, quote=True)
            yield f'<li class="{kind}"><span class="level">{escape(word)}</span>: {escape(text)}</li>'
        yield "</ul>"
    for drive in checkup.evidence.drives:
        yield f"<h2>{escape(_title(drive))}</h2><table>"
        for name, text in drive_rows(drive):
            yield f'<tr><th scope="row">{escape(name)}</th><td>{escape(text)}</td></tr>'
        yield "</table>"
    left_out = unseen_lines(checkup)
    if left_out:
        yield "<h2>Not seen</h2><ul>"
        yield from (f"<li>{escape(text)}</li>" for text in left_out)
        yield "</ul>"
    yield "</main></body></html>"


def markdown(checkup: Checkup) -> str:
    """The same as Markdown."""
    return "\n".join(_markdown(checkup)) + "\n"


def _markdown(checkup: Checkup) -> Iterator[str]:
    yield f"{MARKDOWN_SIGNATURE}{__version__} -->"
    yield f"# The health of drives\n\n**{checkup.level.upper()}**: {_plain(headline(checkup))}\n"
    yield from (f"- {_plain(finding_line(finding))}" for finding in checkup.findings)
    for drive in checkup.evidence.drives:
        yield f"\n## {_plain(_title(drive))}\n\n| | |\n|---|---|"
        yield from (f"| {name} | {_plain(text)} |" for name, text in drive_rows(drive))
    left_out = unseen_lines(checkup)
    if left_out:
        yield "\n## Not seen\n"
        yield from (f"- {_plain(text)}" for text in left_out)


def _title(drive: Drive) -> str:
    return f"{drive.reading.device}: {drive.reading.identity.model or 'no model told'}"


def _plain(text: str) -> str:
    """Text from outside without what Markdown would make something of."""
    return "".join(f"\\{sign}" if sign in "\\`*_{}[]<>#|!" else sign for sign in " ".join(text.split()))
