"""A comparison as a page that needs no other file and no script, or as Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path

from flatwater import __version__
from flatwater.cost.chart import draw
from flatwater.cost.comparison import Comparison
from flatwater.cost.words import ITEM_HEADINGS, columns, headline, item_texts, notes
from flatwater.errors import UserError
from flatwater.owned import require_replaceable, write_atomic

#: The marks of what flatwater wrote, so that it may write it again.
SIGNATURE = '<meta name="generator" content="flatwater '
MARKDOWN_SIGNATURE = "<!-- flatwater cost "
_CSS = """\
:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:1080px;padding:0 1em}
h1{font-size:1.5em}h2{font-size:1.15em;margin-top:2em}
.wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:.25em .7em;text-align:right;border-bottom:1px solid #8884;vertical-align:top}
th:nth-child(2),td:nth-child(2),.items th,.items td{text-align:left}
svg{width:100%;max-width:760px;height:auto}svg text{font-size:12px;fill:currentColor}
.grid{stroke:#8884}.frontier{fill:none;stroke:currentColor;stroke-dasharray:5 4;opacity:.7}
.legend span{margin-right:1.2em}.legend i{display:inline-block;width:.8em;height:.8em;margin-right:.4em}
details{margin:.6em 0}summary{cursor:pointer}
@media print{details{display:block}body{margin:0;max-width:none}}
"""


def write_out(comparison: Comparison, out: Path, *, force: bool = False) -> None:
    """Writes a page (.html) or Markdown (.md). It replaces what flatwater wrote, and other files only with `force`.

    Errors: UserError.
    """
    kinds = {".html": (page, SIGNATURE), ".md": (markdown, MARKDOWN_SIGNATURE)}
    if out.suffix not in kinds:
        raise UserError("is neither a page nor Markdown", where=str(out), hint="--out FILE.html, or FILE.md")
    write, signature = kinds[out.suffix]
    require_replaceable(out, signature, force=force, where="--out")
    try:
        write_atomic(out, write(comparison), durable=False)
    except OSError as error:
        raise UserError(f"cannot write it: {error.strerror}", where=str(out), hint="give another --out") from None


def page(comparison: Comparison) -> str:
    """The whole page as text."""
    return "\n".join(_page(comparison))


def _page(comparison: Comparison) -> Iterator[str]:
    policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    yield "<!doctype html>"
    yield '<html lang="en"><head><meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    yield f'{SIGNATURE}{escape(__version__)}"><meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>What it costs</title><style>{_CSS}</style></head><body><main>"
    yield f"<h1>What it costs</h1><p>{escape(headline(comparison))}</p>"
    yield f"<figure>{draw(comparison)}</figure>"
    yield "<h2>The runs</h2>"
    yield from _table(comparison)
    yield "<h2>The rules</h2><ul>"
    yield from (f"<li>{escape(text)}</li>" for text in notes(comparison))
    yield f"<li>prices as of {comparison.day}; a hollow point is a prediction of what-if</li></ul>"
    yield "<h2>Line items</h2>"
    yield from _items(comparison)
    yield "</main></body></html>"


def _table(comparison: Comparison) -> Iterator[str]:
    found = columns(comparison)
    yield '<div class="wide"><table><thead><tr><th scope="col">#</th><th scope="col">run</th>'
    for column in found:
        yield f'<th scope="col" title="{escape(column.about, quote=True)}">{escape(column.heading)}</th>'
    yield "</tr></thead><tbody>"
    for place, row in enumerate(comparison.rows):
        cells = "".join(f"<td>{escape(column.texts[place])}</td>" for column in found)
        yield f'<tr><td>{place + 1}</td><th scope="row">{escape(row.candidate.name)}</th>{cells}</tr>'
    yield "</tbody></table></div>"


def _items(comparison: Comparison) -> Iterator[str]:
    for place, row in enumerate(comparison.rows, start=1):
        yield f"<details open><summary>{place}: {escape(row.candidate.name)}</summary>"
        yield '<div class="wide items"><table><thead><tr>'
        yield from (f'<th scope="col">{escape(heading)}</th>' for heading in ITEM_HEADINGS)
        yield "</tr></thead><tbody>"
        for texts in item_texts(row):
            yield f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in texts)}</tr>"
        yield "</tbody></table></div></details>"
    if comparison.electricity is not None:
        line = comparison.electricity.line
        told = f"electricity: {line.price:g} {line.currency} per kWh; {line.name}, {line.date}: {line.source}"
        yield f"<p>{escape(told)}</p>"


def markdown(comparison: Comparison) -> str:
    """The table, the rules and the line items as Markdown."""
    return "\n".join(_markdown(comparison)) + "\n"


def _markdown(comparison: Comparison) -> Iterator[str]:
    found = columns(comparison)
    yield f"{MARKDOWN_SIGNATURE}{__version__} -->"
    yield f"# What it costs\n\n{_plain(headline(comparison))}\n"
    yield f"| run | {' | '.join(_plain(column.heading) for column in found)} |"
    yield f"|---{'|---:' * len(found)}|"
    for place, row in enumerate(comparison.rows):
        yield f"| {' | '.join(_plain(text) for text in (row.candidate.name, *(one.texts[place] for one in found)))} |"
    yield ""
    yield from (f"- {_plain(text)}" for text in notes(comparison))
    yield f"- prices as of {comparison.day}\n\n## Line items"
    for row in comparison.rows:
        yield f"\n### {_plain(row.candidate.name)}\n\n| {' | '.join(ITEM_HEADINGS)} |\n|{'---|' * len(ITEM_HEADINGS)}"
        yield from (f"| {' | '.join(_plain(text) for text in texts)} |" for texts in item_texts(row))


def _plain(text: str) -> str:
    """Text in which nothing is markup, neither of Markdown's tables nor of HTML."""
    return escape(text, quote=False).replace("|", "\\|").replace("\n", " ")
