from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from flatwater.cli import make_app
from flatwater.errors import UserError
from flatwater.report.page import render
from flatwater.results import open_result

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))
import synthetic


@pytest.fixture
def result(tmp_path: Path) -> Path:
    return synthetic.single(tmp_path / "result", 30, histograms=False)


def tag(*arguments: str | Path) -> Result:
    return CliRunner().invoke(make_app(), ["tag", *map(str, arguments)])


def test_tags_come_and_go(result: Path) -> None:
    before = {path.name: path.read_bytes() for path in result.iterdir() if path.is_file()}
    assert tag(result, "kernel=6.12", "owner=ann", "--note", "new firmware").stdout == (
        "kernel=6.12\nowner=ann\nnote: new firmware\n"
    )
    assert tag(result, "kernel=6.13", "--remove", "owner").stdout == "kernel=6.13\nnote: new firmware\n"
    assert json.loads(tag(result, "--json").stdout) == {"tags": {"kernel": "6.13"}, "note": "new firmware"}
    assert tag(result, "--note", "", "--remove", "kernel").stdout == ""
    after = {path.name: path.read_bytes() for path in result.iterdir() if path.is_file()}
    assert after.pop("tags.json") and after == before, "what was measured is as it was"


def test_values_with_signs(result: Path) -> None:
    assert tag(result, "query=a=b c").stdout == "query=a=b c\n"
    assert tag(result, "empty=").stdout == "query=a=b c\nempty=\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["kernel"], "kernel: 'kernel' is no tag (hint: key=value"),
        (["=6"], "is no name of a tag"),
        (["a b=6"], "is no name of a tag"),
        (["a" * 65 + "=6"], "longer than 64 characters"),
        (["a=" + "b" * 1001], "longer than 1,000 characters"),
        (["a=\x1b[31m"], "is not one line of plain text"),
        (["a=one\ntwo"], "is not one line of plain text"),
        (["a=\udcff"], "is not one line of plain text"),
        (["--note", "\udcff"], "--note: is not UTF-8 text"),
        (["--note", "x" * 10_001], "10,001 characters"),
        (["--remove", "nosuch"], "--remove nosuch: there is no tag 'nosuch' (hint: tags: kernel)"),
    ],
)
def test_slips_change_nothing(result: Path, arguments: list[str], told: str) -> None:
    tag(result, "kernel=6")
    error = tag(result, "other=1", *arguments).exception
    assert isinstance(error, UserError) and told in str(error)
    assert tag(result).stdout == "kernel=6\n"


def test_what_is_no_result_gets_no_tags(tmp_path: Path) -> None:
    for folder, told in ((tmp_path, "not a flatwater result"), (tmp_path / "nosuch", "no such folder")):
        error = tag(folder, "a=1").exception
        assert isinstance(error, UserError) and told in str(error)
    assert not list(tmp_path.iterdir())


def test_hostile_tags_in_a_folder(result: Path) -> None:
    for text in ('{"tags": {"a": "\\u001b[31m"}}', '{"tags": 3}', "[]", "{", '{"tags": {"<b>": "1"}}'):
        (result / "tags.json").write_text(text)
        assert isinstance(tag(result).exception, UserError)
        # The report is drawn without them.
        assert "tags.json" in render(open_result(result))


def test_the_report_shows_them(result: Path) -> None:
    assert "tags" not in render(open_result(result)).partition("</header>")[0].partition("<header>")[2]
    tag(result, "about=<img src=x>", "--note", "first\nsecond <img src=x>")
    page = render(open_result(result))
    assert "about=&lt;img src=x&gt;" in page and "second &lt;img src=x&gt;" in page and "<img src=x" not in page
