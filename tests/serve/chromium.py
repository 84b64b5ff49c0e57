"""Chromium as a reader uses it: real keys, reloads, the width of a telephone. It is spoken to through a pipe.

`--dump-dom` shows how a page ends; this shows what happens on the way (Chrome DevTools Protocol, version 1.3).
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest
from servelab import PATIENCE_S, Lab

from flatwater.errors import FlatwaterError
from flatwater.report.images import find_browser

FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--remote-debugging-pipe"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
#: Events that say that a page has failed, or was refused something.
PROBLEMS = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
#: Keys that have no letter: their code.
CODES = {"Enter": 13, "Tab": 9, "Home": 36, "ArrowLeft": 37, "ArrowRight": 39}

#: A page is drawn: its scripts say so, if it has any.
DRAWN = "(document.body?.dataset.state === 'ready' || (document.readyState === 'complete' && !document.scripts.length))"


class Chromium:
    """A browser with one page."""

    def __init__(self, profile: Path) -> None:
        try:
            browser = find_browser()
        except FlatwaterError:
            if "CI" in os.environ:
                raise
            pytest.skip("no Chromium or Chrome on this machine")
        read_by_it, self._to = _pipe()
        self._from, written_by_it = _pipe()
        # It reads from 3 and writes to 4.
        shell = f'exec "$0" "$@" 3<&{read_by_it} 4>&{written_by_it}'
        command = ["bash", "-c", shell, browser, *FLAGS, f"--user-data-dir={profile}"]
        self._process = subprocess.Popen(
            command, pass_fds=(read_by_it, written_by_it), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(read_by_it)
        os.close(written_by_it)
        self._rest = b""
        self._number = 0
        self._session = ""
        self.problems: list[str] = []
        target = self._send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._send(f"{domain}.enable")

    def __enter__(self) -> Chromium:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._to)
        os.close(self._from)

    def _send(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            found = self._receive()
            if found.get("method") in PROBLEMS:
                self.problems.append(json.dumps(found["params"])[:2000])
            if found.get("id") == self._number:
                if "error" in found:
                    raise RuntimeError(found["error"]["message"])
                answer: dict[str, Any] = found["result"]
                return answer

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            assert select.select([self._from], [], [], PATIENCE_S)[0], "the browser says nothing"
            piece = os.read(self._from, 1 << 20)
            assert piece, "the browser has ended"
            self._rest += piece
        one, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(one)
        return message

    def look(self, *, width: int = 1280, height: int = 900, phone: bool = False, dark: bool = False) -> None:
        """How wide it is, and whether its reader prefers dark pages."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone}
        self._send("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._send("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, lab: Lab, path: str) -> None:
        """Opens a page, until its scripts have drawn it."""
        token = f"?token={lab.token}" if lab.token is not None else ""
        self._send("Page.navigate", url=f"http://127.0.0.1:{lab.port}{path}{token}")
        self.until_ready(path.partition("?")[0])

    def reload(self) -> None:
        """Loads the page again."""
        self.ask("window.before = true")
        self._send("Page.reload")
        self.until(f"!window.before && {DRAWN}")

    def until_ready(self, path: str) -> None:
        """Waits until the page of an address is drawn."""
        self.until(f"location.pathname === {json.dumps(path)} && {DRAWN}")

    def ask(self, script: str) -> Any:
        """The value of an expression on the page."""
        found = self._send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def until(self, script: str) -> None:
        """Waits until an expression is true, on this page or on the one after it."""
        end_s = time.monotonic() + PATIENCE_S
        while time.monotonic() < end_s:
            try:
                if self.ask(f"Boolean({script})"):
                    return
            except RuntimeError:
                pass  # the page goes, and the next one comes
            time.sleep(0.02)
        raise AssertionError(f"it never came: {script}; {self.problems}")

    def press(self, *keys: str) -> None:
        """Presses keys, one after the other."""
        for key in keys:
            text = {"text": "\r" if key == "Enter" else key} if key == "Enter" or len(key) == 1 else {}
            code = CODES.get(key, ord(key.upper()[0]))
            self._send("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **text)
            self._send("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def click(self, selector: str, count: int = 1) -> None:
        """Clicks into the middle of an element, or double-clicks."""
        element = f"document.querySelector({json.dumps(selector)})"
        self.ask(f"{element}.scrollIntoView({{ block: 'center' }})")
        x, y = self.ask(
            f"(({{ x, y, width, height }}) => [x + width / 2, y + height / 2])({element}.getBoundingClientRect())"
        )
        at = {"x": x, "y": y, "button": "left"}
        self._send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        for number in range(1, count + 1):
            for what in ("mousePressed", "mouseReleased"):
                self._send("Input.dispatchMouseEvent", type=what, clickCount=number, **at)

    def forget_cookies(self) -> None:
        """As a browser that this server has never seen."""
        self._send("Network.clearBrowserCookies")

    def write(self, text: str) -> None:
        """Writes a text where the cursor is."""
        self._send("Input.insertText", text=text)

    def picture(self, path: Path) -> None:
        """What it shows, for somebody who looks at it."""
        path.write_bytes(base64.b64decode(self._send("Page.captureScreenshot", captureBeyondViewport=True)["data"]))


def _pipe() -> tuple[int, int]:
    """A pipe whose numbers are none that the browser's are mapped to."""
    low = os.pipe()
    high = tuple(fcntl.fcntl(one, fcntl.F_DUPFD_CLOEXEC, 10) for one in low)
    for one in low:
        os.close(one)
    return high[0], high[1]
