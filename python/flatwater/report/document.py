"""A document of a few headings, sentences, tables and charts, as one HTML page or as Markdown.

`flatwater compare`, `what-if`, `advise`, `health` and `cost` print to a terminal and to JSON; with `--out FILE` they
write the same as a document. The HTML page has the style, the policy and the charts of a report, and needs no other
file. Text may come from anywhere: both forms escape it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from flatwater.errors import UserError
from flatwater.owned import require_replaceable, unwritten, write_atomic
from flatwater.report.figure import Figure
from flatwater.report.html import SIGNATURE, rendered
from flatwater.results.started import shell_word

#: The first line of a Markdown document, so that a later one may replace it.
MARKDOWN_SIGNATURE = "<!-- made by flatwater -->"
#: How the names of documents end.
_PAGES, _MARKDOWN = (".html", ".htm"), ".md"
#: What Markdown would read as markup.
_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~])")


@dataclass(frozen=True)
class Heading:
    """A heading below the title."""

    text: str


@dataclass(frozen=True)
class Paragraph:
    """A paragraph. `strong` is its beginning, in bold."""

    text: str
    strong: str = ""


@dataclass(frozen=True)
class Items:
    """A list."""

    texts: tuple[str, ...]


@dataclass(frozen=True)
class Code:
    """Lines to copy, such as those of an option file."""

    lines: tuple[str, ...]


@dataclass(frozen=True)
class Rows:
    """A table. `numbers` are the columns that are aligned to the right."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Drawing:
    """A chart. Markdown has its title and its description only."""

    figure: Figure


Block = Heading | Paragraph | Items | Code | Rows | Drawing


@dataclass(frozen=True)
class Document:
    """A title, a sentence that says the most important thing, and what follows."""

    title: str
    headline: str
    blocks: tuple[Block, ...]
    #: The HTML page is one sheet of paper (A4), on the screen too.
    sheet: bool = False


def require_document_place(
    out: Path, signatures: tuple[str, str] = (SIGNATURE, MARKDOWN_SIGNATURE), *, force: bool = False
) -> None:
    """Makes sure that a document may be written to `out`: a verb that works for minutes asks before it begins.

    `signatures` are the marks of a page and of Markdown that it may replace.

    Errors: UserError if the name says neither form, if it would replace what flatwater did not write, or if there is
    no such folder.
    """
    if out.suffix.lower() not in (*_PAGES, _MARKDOWN):
        raise UserError("is neither a page nor Markdown", where=f"--out {out}", hint="a name that ends in .html or .md")
    require_replaceable(out, signatures[is_markdown(out)], force=force, where="--out")
    if not out.parent.is_dir():
        hint = f"mkdir -p {shell_word(str(out.parent))}"
        raise UserError(f"the folder {out.parent} does not exist", where=f"--out {out}", hint=hint)


def is_markdown(out: Path) -> bool:
    """Whether a document of this name is Markdown."""
    return out.suffix.lower() == _MARKDOWN


def write_document(document: Document, out: Path, *, force: bool = False) -> Path:
    """Writes a document: Markdown if the file's name ends in `.md`, else HTML. Returns its path.

    It replaces a document that flatwater wrote, and another file only with `force`.

    Errors: UserError if `out` cannot be written, or if its name says neither.
    """
    require_document_place(out, force=force)
    markdown = is_markdown(out)
    text = as_markdown(document) if markdown else as_html(document)
    try:
        write_atomic(out, text, durable=False)
    except OSError as error:
        raise unwritten("cannot write it", error, str(out)) from None
    return out


def as_text(document: Document) -> list[str]:
    """The document as lines for a terminal."""
    lines = [document.title, document.headline]
    for block in document.blocks:
        match block:
            case Heading():
                lines += ["", block.text]
            case Paragraph():
                lines.append(f"  {block.strong} {block.text}" if block.strong else f"  {block.text}")
            case Items():
                lines += [f"  - {text}" for text in block.texts]
            case Code():
                lines += [f"      {line}" for line in block.lines]
            case Rows():
                lines += _columns(block)
            case Drawing():
                pass
    return [_plain(line) for line in lines]


def _columns(block: Rows) -> list[str]:
    rows = (block.head, *block.rows)
    widths = [max(len(row[place]) for row in rows) for place in range(len(block.head))]

    def cell(place: int, text: str) -> str:
        return text.rjust(widths[place]) if place in block.numbers else text.ljust(widths[place])

    return ["  " + "  ".join(cell(place, text) for place, text in enumerate(row)).rstrip() for row in rows]


def as_html(document: Document, *, home: str = "") -> str:
    """The document as one HTML page that opens offline; `home` as of `rendered`."""
    figures = [block.figure for block in document.blocks if isinstance(block, Drawing)]
    return rendered(
        "document.html",
        title=document.title,
        home=home,
        figures=figures,
        scripted=bool(figures),
        document=document,
        blocks=[(type(block).__name__, block) for block in document.blocks],
    )


def as_markdown(document: Document) -> str:
    """The document as Markdown (CommonMark, with the tables of GitHub)."""
    parts = [MARKDOWN_SIGNATURE, f"# {_escaped(document.title)}", _escaped(document.headline)]
    parts += [_markdown(block) for block in document.blocks]
    return "\n\n".join(part for part in parts if part) + "\n"


def _markdown(block: Block) -> str:
    match block:
        case Heading():
            return f"## {_escaped(block.text)}"
        case Paragraph():
            strong = f"**{_escaped(block.strong)}** " if block.strong else ""
            return strong + _escaped(block.text)
        case Items():
            return "\n".join(f"- {_escaped(text)}" for text in block.texts)
        case Code():
            return "\n".join(f"    {_plain(line)}" for line in block.lines)
        case Rows():
            return _table(block)
        case Drawing():
            return f"{_escaped(block.figure.title)}: {_escaped(block.figure.about)}"


def _table(block: Rows) -> str:
    dashes = ["--:" if place in block.numbers else "---" for place in range(len(block.head))]
    rows: list[Sequence[str]] = [[_escaped(text) for text in row] for row in (block.head, *block.rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (rows[0], dashes, *rows[1:]))


def _escaped(text: str) -> str:
    return _MARKUP.sub(r"\\\1", _plain(text))


def _plain(text: str) -> str:
    """One line without control characters."""
    return "".join(letter if letter.isprintable() else " " for letter in text)
