"""Text of a user's, a file's or a server's is shown as it is: no markup, no emoji, no command of the terminal."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import typer
from rich.table import Table
from typer.testing import CliRunner

from flatwater.cli import make_app
from flatwater.printing import make_console, printable

SOURCES = Path(__file__).parents[2] / "python" / "flatwater"
#: What a name, a title or a message may be.
HOSTILE = "[red]a[/red] [/] [cache] :smile: \x1b[2J\x1b]0;title\x07 \\[b] \u202eabc [link=http://x]y[/link]"


def test_lines_and_tables_show_text_as_it_is() -> None:
    out = io.StringIO()
    console = make_console(file=out)
    table = Table("heading " + HOSTILE)
    table.add_row(HOSTILE)
    console.width = 300
    console.print(HOSTILE)
    console.print(table)
    told = out.getvalue()
    assert told.count(printable(HOSTILE)) == 3
    assert "\x1b" not in told and "\x07" not in told and "\u202e" not in told
    assert printable("caf\u00e9\tna\u00efve\n\u65e5\u672c\u00a0") == "caf\u00e9\tna\u00efve\n\u65e5\u672c\u00a0"


@pytest.mark.parametrize("path", sorted(SOURCES.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCES)))
def test_nobody_else_makes_a_console(path: Path) -> None:
    """One that is made elsewhere takes `[cache]` in a user's title for a style, and shows nothing."""
    if path == SOURCES / "printing.py":
        return
    text = path.read_text()
    for wrong in (r"\bConsole\(", r"\brich\.print\b", r"from rich import print", r"\bprint_json\(", r"from_markup\("):
        assert not re.search(wrong, text), f"{wrong}: use flatwater.printing.make_console"
    assert not re.search(r"TextColumn\((?!.*markup=False)", text), "a TextColumn takes markup unless markup=False"
    if path != SOURCES / "cli" / "verb.py":
        assert ".command(module.NAME" not in text, "use flatwater.cli.verb.add_verb"


def _commands(command: click.Command, *words: str) -> Iterator[tuple[list[str], click.Command]]:
    yield list(words), command
    for name, inner in getattr(command, "commands", {}).items():
        yield from _commands(inner, *words, name)


COMMANDS = list(_commands(typer.main.get_command(make_app())))


@pytest.mark.parametrize(("words", "command"), COMMANDS, ids=[" ".join(words) or "flatwater" for words, _ in COMMANDS])
def test_no_word_is_missing_in_a_help(words: list[str], command: click.Command) -> None:
    ran = CliRunner().invoke(make_app(), [*words, "--help"], env={"COLUMNS": "400", "TERMINAL_WIDTH": "400"})
    assert ran.exit_code == 0
    told = re.sub(r"[\s│]+", " ", ran.output)
    documented = getattr(command.callback, "__doc__", None) or ""
    for text in (documented, *(getattr(param, "help", None) or "" for param in command.params)):
        for word in re.findall(r"\[[a-z_.]+\]", text):
            if word not in ("[bold]", "[dim]"):
                assert word in told, f"{word} of: {text}"
        for sentence in re.findall(r"[A-Za-z ,]{30,}", text.partition("Errors:")[0].replace("\n", " ")):
            assert re.sub(r"\s+", " ", sentence.strip()) in told


def test_the_sentence_on_simulated_caches_is_whole() -> None:
    ran = CliRunner().invoke(
        make_app(), ["trace", "simulate", "--help"], env={"COLUMNS": "200", "TERMINAL_WIDTH": "200"}
    )
    assert "an experiment with [cache] has both" in re.sub(r"[\s│]+", " ", ran.output)
