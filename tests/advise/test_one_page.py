from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from flatwater.advise import one_page as module
from flatwater.advise.one_page import PDF_SIGNATURE, one_page, write_pdf
from flatwater.errors import FlatwaterError
from flatwater.experiment import load
from flatwater.report.document import Drawing, Heading, as_html, as_text, write_document
from flatwater.report.images import find_browser
from flatwater.results import Result, open_result
from flatwater.runner.progress import SilentReporter
from flatwater.runner.sweep import run_experiment

EXPERIMENT = """
title = "Reads <b>of a card</b>"
[workload]
kind = "fileio"
mode = "rndrw"
threads = 4
warmup_s = 5
duration_s = 60
[storage]
kind = "ssd"
device = "intel-910-200"
capacity_scale = 0.01
[sweep]
"workload.threads" = [1, 8]
"""


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    folder = tmp_path_factory.mktemp("sheet")
    (folder / "reads.toml").write_text(EXPERIMENT)
    run_experiment(load(folder / "reads.toml"), folder / "result", SilentReporter(), lambda *_: None)
    return open_result(folder / "result")


def test_it_has_every_part_and_three_charts(result: Result) -> None:
    document = one_page(result)
    heads = [block.text for block in document.blocks if isinstance(block, Heading)]
    assert heads == ["What bounds it", "What to change", "How long it lasts, and what it costs"]
    figures = [block.figure for block in document.blocks if isinstance(block, Drawing)]
    assert [figure.key for figure in figures] == ["sweep-throughput", "throughput", "latency"]
    assert [figure.wide for figure in figures] == [True, False, False]
    assert "The cell with the highest mean: threads 8" in "\n".join(as_text(document))


def test_a_cell_of_its_own_choice(result: Result) -> None:
    assert "threads 1" in "\n".join(as_text(one_page(result, 0)))


def test_it_is_printed_on_one_sheet(result: Result, tmp_path: Path) -> None:
    try:
        find_browser()
    except FlatwaterError:
        if "CI" in os.environ:
            raise
        pytest.skip("no Chromium or Chrome on this machine")
    page = write_document(one_page(result), tmp_path / "page.html")
    write_pdf(page, tmp_path / "page.pdf")
    content = (tmp_path / "page.pdf").read_bytes()
    assert len(re.findall(rb"/Type /Page\b", content)) == 1
    assert PDF_SIGNATURE.encode() in content[:4096]


def test_a_browser_that_prints_nothing_is_an_error(
    result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "find_browser", lambda: "true")
    page = write_document(one_page(result), tmp_path / "page.html")
    with pytest.raises(FlatwaterError, match="could not print"):
        write_pdf(page, tmp_path / "page.pdf")
    assert not (tmp_path / "page.pdf").exists()


def test_titles_from_outside_are_text(result: Result) -> None:
    assert "<b>of a card" not in as_html(one_page(result))
