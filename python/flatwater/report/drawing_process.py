"""Kaleido and its browser, in a process of their own.

Kaleido waits without end for a browser that does not answer. Here such a browser is killed with all that it started,
and so it is on Ctrl-C. When flatwater is killed, the process that draws sees it, and kills its browser itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import json
import os
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

from flatwater.errors import FlatwaterError
from flatwater.report.figure import PLOTLY, Json

#: Drawing is given up when no further image has appeared for this long, seconds. Kaleido itself gives one image 90 s.
PATIENCE_S = 120.0
#: A browser that is gone for this long, seconds, does not come any more.
GONE_S = 10.0
_ENDED = "it ended before it drew everything"
#: Between two looks at the images that are there, and at whether flatwater lives, seconds.
_POLL_S = 0.25
#: Looks at what is left of a browser that was killed: the kernel takes some time for what waits for a device.
_LOOKS_MAX = 20
#: Of linux/prctl.h.
_PR_SET_CHILD_SUBREAPER = 36


def draw_images(orders: Sequence[Json], browser: str, folder: Path, patience_s: float = PATIENCE_S) -> None:
    """Draws every order (kaleido's `fig`, `path`, `opts`) to its path; `folder` is for files that last as long as this.

    Errors: FlatwaterError if the browser fails, or draws nothing more for `patience_s`.
    """
    paths = [Path(order["path"]) for order in orders]
    asked, told = folder / "orders.json", folder / "error.txt"
    try:
        asked.write_text(json.dumps(orders))
    except OSError as error:
        what = f"cannot write the charts' data: {error.strerror}"
        hint = "make room there, or name another place in TMPDIR"
        raise FlatwaterError(what, where=str(asked), hint=hint) from None
    with asked.open("rb") as source, told.open("wb") as sink:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__, browser, str(os.getpid())],
            stdin=source,
            stdout=sink,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            code = _wait_while_progress(process, paths, patience_s)
        finally:
            _kill_with_children(process)
    if code is None:
        drawn = sum(path.exists() for path in paths)
        raise FlatwaterError(
            f"{browser} was killed: it drew nothing more for {patience_s:.0f} s, after {drawn} of {len(paths)} charts",
            hint="try again when the machine has less to do, or name another Chromium in BROWSER_PATH",
        )
    if code != 0:
        reason = told.read_text(errors="replace").strip() or f"exit code {code}"
        hint = (
            f"to see why: {shlex.quote(browser)} --headless --dump-dom about:blank; BROWSER_PATH names another Chromium"
        )
        raise FlatwaterError(f"{browser} could not draw the charts: {reason}", hint=hint)


def _wait_while_progress(process: subprocess.Popen[bytes], paths: Sequence[Path], patience_s: float) -> int | None:
    """The exit code; None if no further image appeared for `patience_s`."""
    drawn, progressed = 0, time.monotonic()
    while time.monotonic() - progressed < patience_s:
        try:
            return process.wait(_POLL_S)
        except subprocess.TimeoutExpired:
            now_drawn = sum(path.exists() for path in paths)
            if now_drawn > drawn:
                drawn, progressed = now_drawn, time.monotonic()
    return None


def _kill_with_children(process: subprocess.Popen[bytes]) -> None:
    """Kills it, unless it has ended: the browser is in a session of its own, so a signal to the group misses it."""
    if process.poll() is not None:
        return
    with contextlib.suppress(psutil.NoSuchProcess):
        # They are looked for first: once their parent is dead, they are no children of ours any more.
        for child in psutil.Process(process.pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()
    process.kill()
    process.wait()


def _main(browser: str, parent: int) -> int:
    """Draws the orders of standard input; what went wrong goes to standard output. Nothing that it starts is left."""
    # What the browser leaves behind becomes a child of this process, and can be found and killed.
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    drawing = threading.Event()
    threading.Thread(target=_end_with, args=(parent, drawing), daemon=True).start()
    try:
        import kaleido

        orders = json.load(sys.stdin)
        drawing.set()
        # Without MathJax, which would be loaded from the network.
        page = kaleido.PageGenerator(plotly=PLOTLY, mathjax=False)
        kaleido.write_fig_from_object_sync(orders, kopts={"path": browser, "page_generator": page})
    except Exception as error:  # noqa: BLE001 - kaleido's and the browser's errors are of many types
        print(_reason(error))
        return 1
    finally:
        _kill_children()
    return 0


def _reason(error: Exception) -> str:
    """An error of kaleido's or the browser's, without the advice for users of those."""
    from choreographer.errors import BrowserClosedError, BrowserFailedError

    # The last one is of a browser that ended while an answer was waited for.
    if isinstance(error, BrowserClosedError | BrowserFailedError | asyncio.InvalidStateError):
        return _ENDED
    # Several texts are one sentence and advice.
    told = error.args[0] if error.args and isinstance(error.args[0], str) else str(error)
    return " ".join(told.split()) or type(error).__name__


def _end_with(parent: int, drawing: threading.Event) -> None:
    """Ends this process and its browser as soon as the process that started it is gone, however that ended.

    It also ends when it draws and no browser is there: kaleido may wait without end for one that ended at once.
    """
    seen_s = time.monotonic()
    while os.getppid() == parent and time.monotonic() - seen_s < GONE_S:
        time.sleep(_POLL_S)
        if not drawing.is_set() or _has_children():
            seen_s = time.monotonic()
    print(_ENDED, flush=True)
    _kill_children()
    os._exit(1)


def _has_children() -> bool:
    """Whether something that this process started still runs."""
    for one in psutil.Process().children():
        with contextlib.suppress(psutil.NoSuchProcess):
            if one.status() != psutil.STATUS_ZOMBIE:
                return True
    return False


def _kill_children() -> None:
    """Kills all that this process started, and looks again: what is killed may just have started more."""
    for _ in range(_LOOKS_MAX):
        left = psutil.Process().children(recursive=True)
        if not left:
            return
        for child in left:
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()
        psutil.wait_procs(left, timeout=_POLL_S)


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1], int(sys.argv[2])))
