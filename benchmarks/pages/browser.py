"""Headless Chromium, driven by Playwright as the tests of the pages do."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
from playwright.sync_api import Error, Page, sync_playwright

from benchmarks.pages.server import PATIENCE_S, Server
from flatwater.errors import FlatwaterError
from flatwater.report.images import find_browser

#: How often a page is asked whether it is drawn. Playwright's own waiting asks twice a second after a while.
ASKED_EVERY_S = 0.02
#: What a page says of itself once its scripts have drawn it.
DRAWN = "document.body?.dataset.state === 'ready'"


def has_browser() -> bool:
    """Whether there is one on this machine."""
    try:
        find_browser()
    except FlatwaterError:
        return False
    return True


@contextmanager
def browser() -> Iterator[Page]:
    """The page of a browser that was started anew, with a new profile. Errors: FlatwaterError."""
    try:
        with (
            sync_playwright() as playwright,
            # Without a process that draws in software what a graphics card would.
            playwright.chromium.launch(executable_path=find_browser(), args=["--disable-gpu"]) as found,
        ):
            page = found.new_page(viewport={"width": 1280, "height": 900})
            page.set_default_timeout(PATIENCE_S * 1000)
            yield page
    except Error as error:
        raise FlatwaterError(f"Chromium failed: {error}") from None


def open_page(page: Page, server: Server, path: str) -> None:
    """Opens a page of a server, until it is drawn. Errors: FlatwaterError."""
    page.goto(f"http://127.0.0.1:{server.port}{path}", wait_until="commit")
    until(page, DRAWN)


def until(page: Page, condition: str) -> None:
    """Waits until an expression is true on a page. Errors: FlatwaterError."""
    end_s = time.monotonic() + PATIENCE_S
    while not page.evaluate(condition):
        if time.monotonic() > end_s:
            raise FlatwaterError(f"Chromium has waited {PATIENCE_S:.0f} s, and this never came: {condition}")
        time.sleep(ASKED_EVERY_S)


def page_bytes() -> int:
    """Private memory of the process that has the page: the largest renderer of ours, as there is one page."""
    renderers = [one for one in psutil.Process().children(recursive=True) if "--type=renderer" in one.cmdline()]
    return max((int(one.memory_full_info().uss) for one in renderers), default=0)
