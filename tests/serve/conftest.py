from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

# the import mode of pytest does not
sys.path.insert(0, str(Path(__file__).parent))
sys.path.append(str(Path(__file__).parents[1] / "report"))
import synthetic
from servelab import PATIENCE_S, Lab, started_run, write_seconds

from flatwater.errors import FlatwaterError
from flatwater.report.images import find_browser
from flatwater.serve.folders import key_of


@pytest.fixture(scope="session")
def two_results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a cell, a sweep in a folder of its own, and what is no result."""
    folder = tmp_path_factory.mktemp("results")
    synthetic.single(folder / "one", 300)
    synthetic.sweep(folder / "all" / "fill", count=60)
    (folder / "notes").mkdir()
    (folder / "notes" / "secret.txt").write_text("nobody is shown this")
    return folder


@pytest.fixture
def lab_of_a_run(tmp_path: Path) -> Iterator[tuple[Lab, str]]:
    """A server with few connections, and the key of a run under way."""
    result = started_run(tmp_path / "run")
    write_seconds(result, 0, 5)
    with Lab([tmp_path], connections=8) as found:
        yield found, key_of(result.path)


@pytest.fixture
def lab(two_results: Path) -> Iterator[Lab]:
    with Lab([two_results]) as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The Chromium of this machine. A module's own: Playwright's loop of asyncio keeps any other from this thread."""
    try:
        program = find_browser()
    except FlatwaterError:
        if "CI" in os.environ:
            raise
        pytest.skip("no Chromium or Chrome on this machine")
    expect.set_options(timeout=PATIENCE_S * 1000)
    with (
        sync_playwright() as playwright,
        # Without a process that draws in software what a graphics card would.
        playwright.chromium.launch(executable_path=program, args=["--disable-gpu"]) as found,
    ):
        yield found


@pytest.fixture
def problems() -> list[str]:
    """What pages said: errors of their scripts, what their policy refused, what did not answer. A test expects none."""
    return []


@pytest.fixture
def page(browser: Browser, problems: list[str]) -> Iterator[Page]:
    """A page in a new profile."""
    with _new_page(browser, problems, viewport={"width": 1280, "height": 900}) as found:
        yield found


@pytest.fixture
def phone(browser: Browser, problems: list[str]) -> Iterator[Page]:
    """A page of a telephone, which makes a page that is too wide smaller."""
    with _new_page(browser, problems, viewport={"width": 390, "height": 780}, is_mobile=True) as found:
        yield found


@contextmanager
def _new_page(browser: Browser, problems: list[str], **options: Any) -> Iterator[Page]:
    with browser.new_context(**options) as context:
        context.set_default_timeout(PATIENCE_S * 1000)
        context.on("console", lambda told: problems.append(f"{told.type}: {told.text} ({told.location['url']})"))
        context.on("weberror", lambda told: problems.append(str(told.error)))
        yield context.new_page()
        # Before it says that the server of the test is gone.
        assert not problems
