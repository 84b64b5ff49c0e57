"""Pages in a browser, until their scripts have drawn them."""

from __future__ import annotations

from urllib.parse import urlsplit

from playwright.sync_api import Page
from servelab import Lab, wait_for

#: Scripts say that they are done; some pages have none.
DRAWN = "document.body.dataset.state === 'ready' || !document.scripts.length"


def open_page(page: Page, lab: Lab, path: str) -> None:
    """Opens a page of a server."""
    page.goto(lab.address(path))
    until_at(page, path.partition("?")[0])


def until_at(page: Page, path: str) -> None:
    """Waits for the page of an address, to which the one before leads."""
    page.wait_for_url(lambda address: urlsplit(address).path == path)
    until(page, DRAWN)


def until(page: Page, condition: str) -> None:
    """Waits for what only a script can see. The policy of our pages refuses `wait_for_function`, which needs `eval`."""
    wait_for(lambda: page.evaluate(condition))
