"""A run on one sheet of paper: the verdict, three charts, what bounds it, what to change, its cost and its life."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from flatwater.advise.advice import Advice
from flatwater.advise.adviser import Consultation, consult
from flatwater.advise.telling import headline, not_judged_line
from flatwater.cost import Asked, candidates_of, compare_costs, read_book, read_price_files
from flatwater.cost.words import headline as cost_headline
from flatwater.errors import FlatwaterError, UserError
from flatwater.owned import write_atomic
from flatwater.report import sentences
from flatwater.report.document import Block, Code, Document, Drawing, Heading, Items, Paragraph
from flatwater.report.images import find_browser
from flatwater.report.sheet import sheet_figures
from flatwater.results import Cell, Result

#: Findings and lines of evidence that a sheet has room for.
_FINDINGS_MAX, _EVIDENCE_MAX = 3, 2
#: What keeps a browser quiet and off the network while it prints.
_BROWSER = (
    *("--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-pdf-header-footer", "--virtual-time-budget=20000"),
)
#: Longer than a browser takes on a busy machine; one that takes longer hangs.
_BROWSER_MAX_S = 120
#: The mark in the head of a PDF, by which a later one may replace it: it is said to be its creator.
PDF_SIGNATURE = "drawn by flatwater"
_CREATOR = re.compile(rb"(?<=/Creator \()(?:\\.|[^)\\])+")


def one_page(result: Result, index: int | None = None) -> Document:
    """The sheet of a result; of a sweep it is about cell `index`, or about the one with the highest mean.

    Errors: UserError if no cell is over.
    """
    told = consult(result, most_of_all(result) if index is None else index)
    return Document(
        title=result.manifest.title or result.name,
        headline=sentences.headline(result) if len(result.cells) > 1 else headline(told),
        blocks=tuple(_blocks(result, told)),
        sheet=True,
    )


def write_pdf(page: Path, out: Path) -> None:
    """Prints an HTML page of ours as PDF.

    Errors: FlatwaterError if there is no browser or if it fails; UserError if `out` cannot be written.
    """
    browser = find_browser()
    with tempfile.TemporaryDirectory(prefix="flatwater-") as folder:
        printed = Path(folder) / "page.pdf"
        # Chromium's sandbox refuses to work for root; the page is ours and reaches nothing.
        sandbox = ("--no-sandbox",) if os.geteuid() == 0 else ()
        command = (browser, *_BROWSER, *sandbox, f"--user-data-dir={folder}/profile", f"--print-to-pdf={printed}")
        try:
            subprocess.run(
                (*command, page.resolve().as_uri()), capture_output=True, timeout=_BROWSER_MAX_S, check=False
            )
            content = printed.read_bytes()
        except (OSError, subprocess.TimeoutExpired) as error:
            raise FlatwaterError(f"{browser} could not print the page: {error}") from None
        try:
            write_atomic(out, _signed(content), durable=False)
        except OSError as error:
            raise UserError(f"cannot write it: {error.strerror}", where=str(out)) from None


def _signed(content: bytes) -> bytes:
    """A PDF with our mark in place of the browser's name. Its length stays: a PDF holds the places of its parts."""
    return _CREATOR.sub(lambda name: PDF_SIGNATURE.encode().ljust(len(name[0]))[: len(name[0])], content, count=1)


def most_of_all(result: Result) -> int | None:
    """The cell with the highest mean; None if none has one."""
    means = [(cell.summary.mean, cell.index) for cell in result.cells if cell.summary and cell.summary.mean is not None]
    return max(means)[1] if means else None


def _blocks(result: Result, told: Consultation) -> Iterator[Block]:
    if len(result.cells) > 1:
        yield Paragraph(f"{told.cell.label}: {headline(told)}", "The cell with the highest mean:")
    if modelled := sentences.modelled_text(result):
        yield Paragraph(modelled)
    yield from (Drawing(figure) for figure in sheet_figures(result, told.cell))
    yield Heading("What bounds it")
    main = told.diagnosis.main
    yield Items((told.diagnosis.text, *(main.evidence[:_EVIDENCE_MAX] if main is not None else ())))
    yield Heading("What to change")
    if not told.advice:
        yield Items(("Nothing: no rule shows a change that would help.",))
    for number, advice in enumerate(told.advice[:_FINDINGS_MAX], 1):
        yield from _finding(number, advice)
    if (line := not_judged_line(told)) is not None:
        yield Paragraph(line)
    yield Heading("How long it lasts, and what it costs")
    yield Items((*_life(told.cell), *_cost(result, told.cell)))


def _finding(number: int, advice: Advice) -> Iterator[Block]:
    effect = f" Expected: {advice.effect.text}." if advice.effect is not None else ""
    risk = f" Risk: {advice.risk}." if advice.risk else ""
    yield Paragraph(f"{advice.change.text}{effect}{risk}", f"{number}. {advice.finding}")
    if advice.change.lines:
        yield Code(advice.change.lines)


def _life(cell: Cell) -> list[str]:
    health = cell.summary.health if cell.summary is not None else None
    return health.text[:_EVIDENCE_MAX] if health is not None and health.text else ["Life: the drives told nothing."]


def _cost(result: Result, cell: Cell) -> list[str]:
    """The cost in a sentence; why there is none, otherwise."""
    try:
        candidates = candidates_of(result, "", cell.index)
        found = compare_costs(candidates, read_book(read_price_files(candidates, [])), Asked())
    except UserError as error:
        return [f"Cost: not told, because {error.what}."]
    text = cost_headline(found)
    return (
        [text]
        if text
        else [
            "Cost: not known, because no price line has its parts: name them with flatwater cost --item LINE=QUANTITY."
        ]
    )
