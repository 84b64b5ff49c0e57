"""`flatwater observe` in tests: started, waited for by what its journal says."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from lab import Lab, Ran, Running


def observe(lab: Lab, url: str, *arguments: str, length: str = "3s") -> Ran:
    return start(lab, url, *arguments, length=length).wait()


def start(lab: Lab, url: str, *arguments: str, length: str = "10m") -> Running:
    out = lab.folder / f"observed{len(list(lab.folder.glob('observed*')))}"
    return lab.start(url, "--for", length, "--out", out, *arguments, verb="observe", out=out)


def seen(running: Running, enough: Callable[[list[dict[str, Any]]], bool]) -> None:
    """Waits until the journal has enough lines of intervals and events."""
    journal = running.out / "cells" / "0000" / "journal.jsonl"

    def looked() -> bool:
        lines = journal.read_text().splitlines() if journal.exists() else []
        return enough([json.loads(line) for line in lines if line.endswith("}")])

    running.until(looked)


def intervals(lines: list[dict[str, Any]]) -> int:
    return sum("metrics" in line for line in lines)


def events(lines: list[dict[str, Any]], kind: str) -> list[str]:
    told = [line["event"] for line in lines if "event" in line]
    return [one["text"] for one in told if one["kind"] == kind]
