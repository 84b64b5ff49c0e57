"""Recorded machines: folders as the kernel has them, and fakes of programs that print what real ones printed."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from flatwater.health.drive import Gauges, Identity, Reading
from flatwater.health.evidence import Drive, Evidence
from flatwater.health.life import life_at, rate_of_life
from flatwater.health.machine import Machine

RECORDED = Path(__file__).parent / "recorded"
NOW_S = 1_800_000_000.0


@dataclass(frozen=True)
class Recording:
    """What a program printed of a real drive, without serial numbers, and where that was published."""

    name: str
    source: str
    program: str
    expected: dict[str, Any]
    output: dict[str, Any]

    @property
    def text(self) -> str:
        return json.dumps(self.output)


def recordings(program: str | None = None) -> list[Recording]:
    found = []
    for path in sorted(RECORDED.glob("*.json")):
        told = json.loads(path.read_text())
        found.append(
            Recording(path.stem, told["source"], told.get("program", "smartctl"), told["expected"], told["output"])
        )
    return [one for one in found if program in (None, one.program)]


def recording(name: str) -> Recording:
    return next(one for one in recordings() if one.name == name)


@dataclass(frozen=True)
class Lab:
    """A machine of our making below a folder."""

    root: Path
    patience_s: float = 30.0

    @property
    def machine(self) -> Machine:
        (self.root / "bin").mkdir(parents=True, exist_ok=True)
        return Machine(self.root, (str(self.root / "bin"),), self.patience_s)

    def write(self, path: str, text: str = "") -> Path:
        place = self.root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        return place

    def disk(self, name: str, *, number: str = "8:0", size: int = 1_000_000, **files: str) -> Path:
        """A disk in sysfs; `files` by their path, with `__` for a slash."""
        folder = self.root / "sys/devices" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "size").write_text(str(size))
        (folder / "dev").write_text(number)
        for path, text in files.items():
            place = folder / path.replace("__", "/")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        self.link(f"sys/block/{name}", folder)
        self.link(f"sys/dev/block/{number}", folder)
        return folder

    def link(self, path: str, target: Path) -> None:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(target)

    def fake(self, program: str, output: str, code: int = 0) -> None:
        """A fake of a program, which prints a recorded output whatever it is asked."""
        said = self.write(f"said/{program}", output)
        self.script(program, f"cat {shlex.quote(str(said))}\nexit {code}")

    def script(self, program: str, lines: str) -> None:
        """A fake of a program that is a shell script. It notes what it was asked."""
        asked = self.root / f"asked-{program}"
        path = self.write(
            f"bin/{program}", f'#!/bin/sh\necho "$@" >> {shlex.quote(str(asked))}\nPATH=/usr/bin:/bin\n{lines}\n'
        )
        path.chmod(0o755)

    def asked(self, program: str) -> list[str]:
        """What a fake was asked, a line each time."""
        path = self.root / f"asked-{program}"
        return path.read_text().splitlines() if path.exists() else []


def drive(device: str = "/dev/sda", *, model: str = "A DRIVE", before: tuple[Any, ...] = (), **gauges: Any) -> Drive:
    """A drive with these gauges, and its life at the mean rate of its hours."""
    reading = Reading(device, NOW_S, ("test",), Identity(model, capacity_bytes=10**12, key="0123"), Gauges(**gauges))
    rate = rate_of_life(reading.gauges)
    life = life_at(reading.gauges, rate, NOW_S) if rate is not None else None
    return Drive(reading, before, life)


def evidence(*drives: Drive, **more: Any) -> Evidence:
    return replace(Evidence(NOW_S, tuple(drives)), **more)
