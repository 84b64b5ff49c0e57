"""Headless Chromium, as the tests of the pages drive it."""

from __future__ import annotations

import importlib
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from flatwater.errors import FlatwaterError
from flatwater.report.images import find_browser

_TESTS = Path(__file__).parents[2] / "tests" / "serve"


def has_browser() -> bool:
    """Whether there is one on this machine."""
    try:
        find_browser()
    except FlatwaterError:
        return False
    return True


@contextmanager
def browser(folder: Path) -> Iterator[Any]:
    """A browser with one page and a new profile: `chromium.Chromium` of the tests. Errors: FlatwaterError."""
    if str(_TESTS) not in sys.path:
        sys.path.append(str(_TESTS))
    chromium = importlib.import_module("chromium")
    try:
        with (
            tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as profile,
            chromium.Chromium(Path(profile)) as found,
        ):
            found.look()
            yield found
    except (AssertionError, RuntimeError) as error:
        # The driver is one of tests.
        raise FlatwaterError(f"Chromium failed: {error}") from None


def page_bytes(found: Any) -> int:
    """Private memory of the process that has the page: its largest renderer, as it has one page."""
    children = psutil.Process(found._process.pid).children(recursive=True)
    renderers = [one for one in children if "--type=renderer" in one.cmdline()]
    return max((int(one.memory_full_info().uss) for one in renderers), default=0)
