"""The notebook of the docs runs from its first cell to its last, and is kept without what it computed."""

from __future__ import annotations

import ast
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest

import flatwater as fw

DOCS = Path(__file__).parents[2] / "docs"
(NOTEBOOK,) = DOCS.glob("*.ipynb")
CELLS: list[dict[str, Any]] = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]


def shown(cells: list[dict[str, Any]]) -> list[Any]:
    """What each cell of code shows: the value of its last line."""
    names: dict[str, Any] = {}
    values = []
    for cell in cells:
        lines = ast.parse("".join(cell["source"]))
        last = lines.body.pop()
        assert isinstance(last, ast.Expr), "a cell that shows nothing"
        exec(compile(lines, NOTEBOOK.name, "exec"), names)
        values.append(eval(compile(ast.Expression(last.value), NOTEBOOK.name, "eval"), names))
    return values


def test_it_runs_and_shows_what_its_text_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    run, summaries, sentence, small, large, mechanism = shown([one for one in CELLS if one["cell_type"] == "code"])
    assert isinstance(run, fw.LoadedRun)
    assert summaries[0]["mean"] < summaries[1]["mean"], "the notebook says that the larger log is faster"
    assert "times the throughput" in sentence
    for chart in (small, large):
        assert isinstance(chart, fw.Chart) and "plotly" in chart._repr_html_()
    age, pages = (tuple(row[name] for row in mechanism) for name in mechanism[0])
    assert 1 > age[0] > age[1] > 0, "the notebook says how near to its limit the age was"
    assert pages[0] > pages[1], "the notebook says that a larger log writes fewer pages"


def test_it_is_kept_without_output() -> None:
    code = [cell for cell in CELLS if cell["cell_type"] == "code"]
    assert code and all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


def test_its_links_lead_somewhere() -> None:
    text = "".join("".join(cell["source"]) for cell in CELLS if cell["cell_type"] == "markdown")
    links = [part.split(")")[0] for part in text.split("](")[1:]]
    assert links and all((DOCS / link).exists() for link in links)
