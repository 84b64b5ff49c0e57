from __future__ import annotations

import os
import subprocess
import sys
import typing
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))
import synthetic

MAIN = """
import typer
from flatwater.cli import report
from flatwater.errors import FlatwaterError
import sys
app = typer.Typer(pretty_exceptions_enable=False)
app.command(report.NAME, epilog=report.EXAMPLES)(report.verb)
try:
    app()
except FlatwaterError as error:
    print(f"error: {error}", file=sys.stderr)
    sys.exit(error.exit_code)
"""


def run(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """The verb as the command line runs it, without its siblings."""
    command = [sys.executable, "-c", MAIN, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | environment, check=False)


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthetic.single(tmp_path_factory.mktemp("cli") / "result", 60, histograms=False)


def test_writes_beside_the_result_and_prints_the_path(result: Path) -> None:
    ran = run(result)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout == f"{result / 'report.html'}\n"
    assert "plotly.js (basic" in (result / "report.html").read_text(), "the page carries its program"


def test_out_goes_where_it_is_told(result: Path, tmp_path: Path) -> None:
    ran = run(result, "--out", tmp_path / "page.html")
    assert ran.stdout == f"{tmp_path / 'page.html'}\n"
    assert (tmp_path / "page.html").exists()


@pytest.mark.parametrize("name", ["page.md", "page.MD", "page.pdf"])
def test_a_name_of_another_kind_of_document_is_refused(result: Path, tmp_path: Path, name: str) -> None:
    ran = run(result, "--out", tmp_path / name)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "the report is a page of HTML" in ran.stderr and "--one-page writes Markdown" in ran.stderr
    assert not (tmp_path / name).exists()


def test_one_page_as_markdown(result: Path, tmp_path: Path) -> None:
    ran = run(result, "--one-page", "--out", tmp_path / "sheet.md")
    assert (ran.returncode, ran.stdout) == (0, f"{tmp_path / 'sheet.md'}\n")
    text = (tmp_path / "sheet.md").read_text()
    assert "## What bounds it" in text and "<html" not in text
    assert [path.name for path in tmp_path.iterdir()] == ["sheet.md"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "error: nowhere: no such folder (hint: give the folder that"),
        (["."], "error: .: not a flatwater result"),
    ],
)
def test_what_is_no_result_is_one_line(arguments: list[str], message: str) -> None:
    ran = run(*arguments)
    assert ran.returncode == 2
    assert ran.stderr.startswith(message)
    assert ran.stderr.count("\n") == 1


def test_a_place_that_cannot_be_written_is_one_line(result: Path, tmp_path: Path) -> None:
    ran = run(result, "--out", tmp_path / "no" / "page.html")
    assert ran.returncode == 2
    assert "choose another place with --out" in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_png_without_a_browser_still_leaves_the_page(result: Path, tmp_path: Path) -> None:
    ran = run(result, "--out", tmp_path / "page.html", "--png", tmp_path / "png", PATH=str(tmp_path), BROWSER_PATH="")
    assert ran.returncode == 1
    assert "apt-get install chromium" in ran.stderr
    assert ran.stderr.count("\n") == 1
    assert (tmp_path / "page.html").exists()


@pytest.mark.parametrize("damage", ["series.parquet", "summary.json", "machine.json", "flatwater.json"])
def test_a_damaged_result_is_one_line(tmp_path: Path, damage: str) -> None:
    path = synthetic.single(tmp_path / "result", 60, histograms=False)
    with (path / damage).open("r+b") as handle:
        handle.truncate((path / damage).stat().st_size // 2)
    ran = run(path)
    assert ran.returncode in (1, 2)
    assert ran.stderr.startswith("error: ")
    assert ran.stderr.count("\n") == 1


#: Options that name what is written; `{}` is where somebody's file is.
WRITES = {
    "--out": ["--out", "{}/page.html"],
    "--published": ["--published", "{}/page.html"],
    "--png": ["--png", "{}"],
    "--svg": ["--svg", "{}"],
}


def test_every_option_that_writes_is_tried() -> None:
    from flatwater.cli.report import verb

    takes_paths = {name for name, kind in typing.get_type_hints(verb).items() if kind == Path | None}
    assert {f"--{name}" for name in takes_paths} == set(WRITES)


# A picture needs a browser, and every option goes the same way.
@pytest.mark.parametrize(
    "option", [pytest.param(one, marks=pytest.mark.slow if one in ("--svg", "--png") else ()) for one in WRITES]
)
def test_what_somebody_else_wrote_is_not_replaced(result: Path, tmp_path: Path, option: str) -> None:
    place, own = tmp_path / "place", tmp_path / "own.html"
    place.mkdir()
    asked = [one.format(place) for one in WRITES[option]]
    page = [] if option in ("--out", "--published") else ["--out", own]
    first = run(result, *asked, *page)
    assert first.returncode == 0, first.stderr
    written = [path for path in sorted(place.iterdir()) if path.is_file()]
    assert written
    assert run(result, *asked, *page).returncode == 0, "what flatwater wrote is replaced"
    for path in written:
        path.write_bytes(b"my thesis on flatwater")
    ran = run(result, *asked, *page)
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1)
    assert "was not written by flatwater" in ran.stderr and "--force" in ran.stderr
    assert {path.read_bytes() for path in written} == {b"my thesis on flatwater"}
    assert run(result, *asked, *page, "--force").returncode == 0
    assert b"my thesis" not in written[0].read_bytes()
    assert sorted(path for path in place.iterdir() if path.is_file()) == written, "and nothing is left beside them"


def test_a_page_that_lies_beside_the_result_by_chance_stays(result: Path) -> None:
    (result / "report.html").write_text("<html>my notes</html>")
    ran = run(result)
    assert ran.returncode == 2 and "was not written by flatwater" in ran.stderr
    assert (result / "report.html").read_text() == "<html>my notes</html>"
    (result / "report.html").unlink()


def test_help_has_examples() -> None:
    ran = run("--help", COLUMNS="120", NO_COLOR="1")
    assert "flatwater report fill-level.result" in ran.stdout
