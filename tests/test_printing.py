"""Text from outside becomes fit for a terminal at one place, and failures of outputs are told as what they are."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from rich.table import Table

import flatwater
from flatwater.errors import OutputError
from flatwater.printing import Guarded, make_console, print_data, printable

ROOT = Path(flatwater.__file__).parent


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ± µs ▁█ 日本 👩\u200d💻\n\tindented\r\n", "plain ± µs ▁█ 日本 👩\u200d💻\n\tindented\r\n"),
        ("\x1b[31mred\x1b]0;title\x07", "\\u001b[31mred\\u001b]0;title\\u0007"),
        ("over\rwritten \x08 \x7f \x9b31m", "over\\u000dwritten \\u0008 \\u007f \\u009b31m"),
        ("turned \u202e round \u2066", "turned \\u202e round \\u2066"),
        ("two\u2028lines\x0b\x0c\x85", "two\\u2028lines\\u000b\\u000c\\u0085"),
        (b"name-\xff".decode(errors="surrogateescape"), "name-\\udcff"),
        ("\x00", "\\u0000"),
        ("a\u200bb \xad \u2060 \ufeff \U000e0041", "a\\u200bb \\u00ad \\u2060 \\ufeff \\udb40\\udc41"),
        # Joiners join letters of Persian and parts of an emoji; in other text they only hide.
        ("\u0645\u06cc\u200c\u0631\u0648\u0645", "\u0645\u06cc\u200c\u0631\u0648\u0645"),
        ("a\u200db \u200c\u0631 \u0631\u200d", "a\\u200db \\u200c\u0631 \u0631\\u200d"),
    ],
)
def test_what_a_terminal_would_act_upon_is_shown(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_every_format_character_without_a_glyph_is_shown() -> None:
    with_glyph = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
    every = [chr(one) for one in range(sys.maxunicode + 1) if unicodedata.category(chr(one)) in ("Cc", "Cf", "Cs")]
    kept = {ord(one) for one in every if printable(f"a{one}b") == f"a{one}b"}
    assert kept <= with_glyph | {9, 10}


def test_json_stays_the_same_json() -> None:
    every = "".join(map(chr, [*range(0x3000), *range(0xE0000, 0xE0100)]))
    for ascii_only in (True, False):
        written = json.dumps({"text": every}, ensure_ascii=ascii_only)
        assert json.loads(printable(written)) == {"text": every}


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_program_is_given_the_text_itself(monkeypatch: pytest.MonkeyPatch, is_terminal: bool) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: is_terminal)
    monkeypatch.setattr(sys, "stdout", Guarded(stream, "standard output"))
    print_data("results/\u202e\x1b[31m\n")
    assert stream.getvalue() == ("results/\\u202e\\u001b[31m\n" if is_terminal else "results/\u202e\x1b[31m\n")


def test_what_rich_draws_is_cleaned_but_not_its_colours() -> None:
    stream = io.StringIO()
    guarded = Guarded(stream, "standard output")
    console = make_console(guarded)  # type: ignore[arg-type]
    table = Table("[bold]head[/bold]")
    table.add_row("cell \x1b[31m[red]x[/red]", style="bold")
    console.print(table)
    console.print("styled \x1b]0;x\x07 :smile:", style="bold")
    written = stream.getvalue()
    assert "[bold]head[/bold]" in written and "[red]x[/red]" in written and ":smile:" in written
    assert "cell \\u001b[31m" in written and "\\u001b]0;x\\u0007" in written
    assert "\x1b[31m" not in written and "\x1b]" not in written and "\x07" not in written


def test_a_failure_that_a_library_swallowed_is_told_at_the_next_chance() -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123
        stream = Guarded(full, "standard output")
        stream.write("x")
        for _ in range(2):
            with pytest.raises(OutputError, match="No space left"):
                stream.flush()
    with open("/dev/full", "w") as full:  # noqa: PTH123
        quiet = Guarded(full, None)
        quiet.write("x")
        quiet.flush()


def test_a_terminal_that_is_not_utf8_gets_what_it_can_show() -> None:
    program = "import sys; from flatwater.printing import guarded_output\nwith guarded_output(): print('▁ ±')"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, env={"PYTHONIOENCODING": "latin-1"})
    assert (ran.returncode, ran.stdout) == (0, b"\\u2581 \xb1\n")


def test_consoles_are_made_at_one_place() -> None:
    made = re.compile(r"(?<![\w\"`])Console\((?!\))")
    places = [path for path in ROOT.rglob("*.py") if made.search(path.read_text()) and path.name != "printing.py"]
    assert not places, "take it from flatwater.printing.make_console, which cleans what comes from outside"
