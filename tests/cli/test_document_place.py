"""A document that cannot be written is refused before the work: a prediction takes a minute, and a run takes longer.

The verbs are those of the registry: a new one that writes a document is tried here without being named.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from calls import Caller
from typer.main import get_command

from flatwater.cli import make_app

#: Verbs of which `--out` is a folder, or a file of another kind: a run, what is observed, an import, a device, a trace,
#: a report's page.
OTHERS = {"run", "observe", "tune-up", "import", "fit", "report"}
DOCUMENTS = [
    name
    for name, verb in get_command(make_app()).commands.items()  # type: ignore[attr-defined]
    if name not in OTHERS and any("--out" in parameter.opts for parameter in verb.params)
]


def test_the_verbs_that_write_documents() -> None:
    assert {"advise", "compare", "cost", "health", "what-if"} <= set(DOCUMENTS)


@pytest.fixture(scope="module")
def caller() -> Iterator[Caller]:
    with Caller() as made:
        yield made


@pytest.mark.parametrize("verb", DOCUMENTS)
@pytest.mark.parametrize(
    ("out", "told"),
    [
        ("page.txt", "is neither a page nor Markdown (hint: a name that ends in .html or .md)"),
        ("page", "is neither a page nor Markdown"),
        ("no/page.md", "the folder no does not exist (hint: mkdir -p no)"),
        ("taken/page.html", "cannot use taken/page.html: Not a directory"),
        ("taken.html", "was not written by flatwater"),
        ("folder.md", "folder.md is not a file"),
    ],
)
def test_is_refused_before_anything_is_read(caller: Caller, tmp_path: Path, verb: str, out: str, told: str) -> None:
    (tmp_path / "taken").write_text("a file")
    (tmp_path / "taken.html").write_text("<html>my notes</html>")
    (tmp_path / "folder.md").mkdir()
    # There is no such result and no such device: reading it would be the error.
    read = ["nosuch", "nosuch"] if verb == "compare" else ["nosuch"]
    called = caller.call([verb, *read, "--out", out], tmp_path)
    (line,) = called.stderr.splitlines()
    assert called.code == 2 and told in line and "--out" in line, called
