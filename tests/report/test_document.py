from __future__ import annotations

import html
import json
from pathlib import Path

import pytest

from flatwater.errors import UserError
from flatwater.report.document import (
    Code,
    Document,
    Drawing,
    Heading,
    Items,
    Paragraph,
    Rows,
    as_html,
    as_markdown,
    as_text,
    write_document,
)
from flatwater.report.figure import Figure
from flatwater.report.html import embedded

FIGURE = Figure("dots", "Cost", "Each run.", [{"type": "scatter", "x": [1], "y": [2]}], {"xaxis": {}})


def document(text: str = "text", *, drawn: bool = False) -> Document:
    blocks = (
        Heading(f"A {text}"),
        Paragraph(text, "strong:"),
        Items((text, "second")),
        Code((f"innodb_io_capacity = {text}",)),
        Rows(("what", "figure"), ((text, "12"), ("b", "3,400")), frozenset({1})),
    )
    return Document(f"Advice on {text}", f"It is {text}.", (*blocks, Drawing(FIGURE)) if drawn else blocks)


def test_lines_for_a_terminal() -> None:
    assert as_text(document()) == [
        *("Advice on text", "It is text.", "", "A text", "  strong: text", "  - text", "  - second"),
        "      innodb_io_capacity = text",
        *("  what  figure", "  text      12", "  b      3,400"),
    ]


def test_markdown_has_tables_and_lists() -> None:
    told = as_markdown(document(drawn=True))
    assert "# Advice on text\n\nIt is text.\n\n## A text\n\n**strong:** text\n\n- text\n- second" in told
    assert "| what | figure |\n| --- | --: |\n| text | 12 |" in told
    assert "\n    innodb\\_io" not in told, "code is copied as it is"
    assert "Cost: Each run." in told


@pytest.mark.parametrize(
    "attack", ["<script>alert(1)</script>", "a|b", "*x*\n# head", "\x1b[31mred", "right\u202eleft", "`x` [a](b)"]
)
def test_nothing_from_outside_is_markup(attack: str) -> None:
    page, markdown, lines = as_html(document(attack)), as_markdown(document(attack)), as_text(document(attack))
    assert "<script" not in page
    assert not {"\x1b", "\u202e"} & set(page + markdown + "".join(lines)), "nor acts unseen"
    assert "\n# head" not in markdown
    table = [line for line in markdown.splitlines() if line.startswith("| ") and "12 |" in line]
    assert [line.replace("\\|", "").count("|") for line in table] == [3]


def test_a_page_without_charts_runs_no_script() -> None:
    page = as_html(document())
    assert "script-src 'none'" in html.unescape(page)
    assert "<script" not in page


def test_a_page_with_charts_has_the_scripts_of_a_report() -> None:
    page = as_html(document(drawn=True))
    assert page.count("<script>") == 3
    assert '"key":"dots"' in page


def test_only_what_flatwater_wrote_is_replaced(tmp_path: Path) -> None:
    for name in ("a.html", "a.md"):
        out = tmp_path / name
        write_document(document(), out)
        write_document(document("again"), out)
        assert "again" in out.read_text()
        out.write_text("mine")
        with pytest.raises(UserError):
            write_document(document(), out)
        assert out.read_text() == "mine"
        write_document(document(), out, force=True)
    with pytest.raises(UserError, match="neither a page nor Markdown"):
        write_document(document(), tmp_path / "a.pdf")


@pytest.mark.parametrize("attack", ["\x1b[31mred", "right\u202eleft", "\x07bell"])
def test_names_in_charts_do_not_act_unseen(attack: str) -> None:
    """JSON spells control characters so that they come back as they were: a chart would draw them."""
    told = json.loads(embedded({"title": attack, "traces": [{"name": attack, attack: 1}], "points": (1.5, None)}))
    assert told["points"] == [1.5, None]
    text = [told["title"], told["traces"][0]["name"], *told["traces"][0]]
    assert not {"\x1b", "\u202e", "\x07"} & set("".join(text)), told
