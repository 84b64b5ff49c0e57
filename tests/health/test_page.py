"""A checkup as a page and as Markdown: whatever a drive calls itself, it stays text."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest
from recordings import drive, evidence

from flatwater.errors import UserError
from flatwater.health import Checkup
from flatwater.health.page import markdown, page, write_out
from flatwater.health.warnings import find_warnings

EVIL = '<script>alert(1)</script> "x" | `y` [z](javascript:0)'


def checkup() -> Checkup:
    found = evidence(drive(model=EVIL, used_pct=95, power_on_hours=1000, host_written_bytes=1e15, media_errors=3))
    return Checkup(found, tuple(find_warnings(found)), "warning")


class Tags(HTMLParser):
    """Collects tags, and checks that what is opened is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        if tag not in ("meta", "!doctype"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_has_all_and_no_script() -> None:
    text = page(checkup())
    tags = Tags()
    tags.feed(text)
    assert tags.open == []
    assert "script" not in tags.seen
    assert "&lt;script&gt;" in text and "default-src 'none'" in text
    for word in ("WARNING", "95 % of the rated life is used", "3 media errors", "life left"):
        assert word in text


def test_markdown_makes_nothing_of_a_name() -> None:
    text = markdown(checkup())
    assert "<script>" not in text and "[z](" not in text
    assert "\\<script\\>" in text and "| wear | 95 % of the rated life is used |" in text


@pytest.mark.parametrize("name", ["drives.html", "drives.md"])
def test_written_again_it_replaces_itself_and_nothing_else(tmp_path: Path, name: str) -> None:
    out = tmp_path / name
    write_out(checkup(), out)
    write_out(checkup(), out)
    theirs = tmp_path / f"theirs-{name}"
    theirs.write_text("their own")
    with pytest.raises(UserError, match="was not written by flatwater"):
        write_out(checkup(), theirs)
    assert theirs.read_text() == "their own"
    write_out(checkup(), theirs, force=True)
    assert theirs.read_text() != "their own"


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="neither a page nor Markdown"):
        write_out(checkup(), tmp_path / "drives.pdf")
    with pytest.raises(UserError, match="does not exist"):
        write_out(checkup(), tmp_path / "no/such/folder.html")
