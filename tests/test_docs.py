"""The pages of docs and the README: line lengths, links to headings, and the glossary."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import get_args

import pytest

from flatwater.cache.settings import setting_words
from flatwater.experiment.expected import VerdictWord
from flatwater.experiment.published import METRICS
from flatwater.report.sentences import LAYERS
from flatwater.results.phases import APPROACH, RECORDED
from flatwater.results.schema import Verdict

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
GLOSSARY = DOCS / "glossary.md"
#: `flatwater report --published` writes it.
GENERATED = DOCS / "published.md"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
LINE_MAX = 120
#: Where the terms of the glossary are used: the pages, and what the report and the commands print.
SPEAKERS = ("analysis", "cli", "report", "what_if")
#: Headings of the report that need no explanation.
PLAIN_HEADINGS = {
    *("Title", "The machine", "The experiment, as it was run"),
    *("Recoveries", "Response times", "Servers", "The server", "Drives"),
}
#: Folders that pages name and runs make.
MADE_BY_RUNS = {"run/", "set-aside/", "settings/"}
#: Metrics of `[[published]]` that are plain statistics.
PLAIN_METRICS = {"mean", "median", "stddev"}


def _prose(text: str) -> Iterator[tuple[int, str]]:
    """The lines that are neither code, a table nor a picture, with their numbers."""
    fenced, code, before = False, False, ""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
        code = line.startswith("    ") and (code or not before.strip())
        if not (fenced or code or line.startswith(("|", "!["))):
            yield number, line
        before = line


def _breaks(line: str) -> bool:
    """Whether a line has a space at which it could have been broken."""
    return " " in line.strip().removeprefix("- ")


@pytest.mark.parametrize("page", [page for page in PAGES if page != GENERATED], ids=lambda page: page.name)
def test_lines_wrap(page: Path) -> None:
    lines = _prose(page.read_text(encoding="utf-8"))
    assert not [f"{page.name}:{number}" for number, line in lines if len(line) > LINE_MAX and _breaks(line)]


def test_tables_and_code_may_be_longer_and_prose_may_not() -> None:
    text = "prose\n\n    code\n    code\n\n| table |\n```\nfenced\n```\n- list\n\n  more of it"
    assert [line for _, line in _prose(text) if line.strip("` ")] == ["prose", "- list", "  more of it"]


def _anchors(page: Path) -> set[str]:
    """The headings of a page, as links name them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_to_headings_lead_to_one() -> None:
    links = [
        (page, target, anchor)
        for page in PAGES
        if page != GENERATED
        for target, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", page.read_text(encoding="utf-8"))
    ]
    assert len(links) > 20
    wrong = []
    for page, target, anchor in links:
        other = (page.parent / target).resolve() if target else page
        if not other.exists() or anchor not in _anchors(other):
            wrong.append(f"{page.name} -> {target}#{anchor}")
    assert not wrong


@cache
def _files() -> list[str]:
    """The paths of all sources and pages, with a slash before them and after each folder."""
    rooms = ("benchmarks", "crates", "docs", "fuzz", "python", "tests")
    paths = [path for room in rooms for path in (ROOT / room).rglob("*")]
    return [f"/{path.relative_to(ROOT)}{'/' * path.is_dir()}" for path in paths]


@pytest.mark.parametrize("page", [page for page in PAGES if page != GENERATED], ids=lambda page: page.name)
def test_the_sources_that_a_page_names_are_there(page: Path) -> None:
    named = re.findall(r"`([\w./-]+\.rs|[\w.-]+/[\w./-]*(?:\.py|\.md|/))`", page.read_text(encoding="utf-8"))
    # NAME and KIND stand for any name; what a run makes is not in the tree.
    named = [name for name in named if not re.search(r"NAME|KIND", name) and name not in MADE_BY_RUNS]
    assert not [name for name in named if not any(file.endswith(f"/{name}") for file in _files())]


def test_the_map_lists_every_room() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE))
    rooms = [*(ROOT / "crates").iterdir(), *(ROOT / "python/flatwater").iterdir()]
    rooms += [ROOT / name for name in ("benchmarks", "docs", "fuzz", "scripts", "tests")]
    names = {str(room.relative_to(ROOT)) for room in rooms if room.is_dir() and room.name != "__pycache__"}
    assert len(names) > 20
    assert names - listed == set(), "a room without its row in CONTRIBUTING.md"
    assert [room for room in listed if not (ROOT / room).is_dir()] == []
    # What a row says of parts of its room.
    parts = [
        (room, part)
        for room, row in re.findall(r"^\| `([^`]+)` \| (.*) \|$", text, re.MULTILINE)
        for part in re.findall(r"`([\w/]+/|\w+\.(?:py|rs))`", row)
    ]
    assert len(parts) > 10
    assert [part for part in parts if not _is_there(*part)] == []


def _is_there(room: str, part: str) -> bool:
    return any((ROOT / place / part).exists() for place in (room, f"{room}/src", "."))


@cache
def _rows() -> list[list[str]]:
    """The glossary's rows: terms, meaning, unit, where it is computed."""
    lines = GLOSSARY.read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if line.startswith("| **")]


def _terms() -> list[str]:
    return [term for row in _rows() for term in re.findall(r"\*\*(.+?)\*\*", row[0])]


def test_every_row_of_the_glossary_is_whole() -> None:
    assert not [row for row in _rows() if len(row) != 4 or not all(row)]
    terms = _terms()
    assert len(terms) > 80
    assert not [term for term in terms if terms.count(term) > 1]


def test_the_places_that_the_glossary_names_are_there() -> None:
    places = [place for row in _rows() for place in re.findall(r"`((?:python|crates)/[^`]+)`", row[3])]
    assert places
    assert not [place for place in places if not (ROOT / place).exists()]


@cache
def _spoken() -> str:
    """All that is said elsewhere: pages, report and commands; in lower case, on one line."""
    files = [page for page in PAGES if page not in (GLOSSARY, GENERATED)]
    for room in SPEAKERS:
        files += [path for path in (ROOT / "python/flatwater" / room).rglob("*") if path.suffix in (".py", ".html")]
    return " ".join(" ".join(path.read_text(encoding="utf-8") for path in files).lower().split())


@pytest.mark.parametrize("term", _terms())
def test_every_term_of_the_glossary_is_used(term: str) -> None:
    assert re.search(rf"\b{re.escape(term.lower())}s?\b", _spoken())


def test_the_words_of_the_registries_are_in_the_glossary() -> None:
    words = {*get_args(Verdict), *get_args(VerdictWord), *RECORDED, APPROACH, *setting_words()["mode"]}
    words |= {metric for metric in METRICS if not metric.startswith(("latency_us", "transition_"))} - PLAIN_METRICS
    assert len(words) > 15
    assert not words - set(_terms())


def test_the_layers_are_in_the_glossary() -> None:
    (meaning,) = [row[1] for row in _rows() if row[0] == "**layer**"]
    assert not [layer for layer in LAYERS if layer not in meaning]


def test_the_headings_of_the_report_are_in_the_glossary() -> None:
    report = ROOT / "python/flatwater/report"
    page = (report / "templates/page.html").read_text(encoding="utf-8")
    headings = set()
    for heading in re.findall(r"<h[23][^>]*>(.*?)</h[23]>", page):
        headings |= set(re.findall(r'"([^"]+)"', heading)) if "{{" in heading else {heading}
    headings |= set(re.findall(r'Table\(\s*"([^"]+)"', (report / "tables.py").read_text(encoding="utf-8")))
    assert len(headings) > 5
    explained = {*re.findall(r"\*\*(.+?)\*\*", GLOSSARY.read_text(encoding="utf-8")), *PLAIN_HEADINGS}
    assert not headings - explained


def test_the_glossary_is_linked() -> None:
    assert "(docs/glossary.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
    for name in ("analysis.md", "cache.md", "databases.md", "experiment-file.md", "report.md", "what-if.md"):
        assert "(glossary.md" in (DOCS / name).read_text(encoding="utf-8"), name
