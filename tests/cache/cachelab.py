"""Caches on real files, real mounts and real processes, and all of it undone at the end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from lab import Lab, Ran
from waiting import PATIENCE_S

MIB = 2**20


def is_running(pid: int) -> bool:
    """Whether a process is there, and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class CacheLab:
    """A directory with a state of its own; `state_dir` must be in the environment as FLATWATER_STATE_DIR."""

    def __init__(self, lab: Lab, state_dir: Path) -> None:
        self.lab = lab
        self.folder = lab.folder
        self.state_dir = state_dir
        self.mount = self.folder / "mnt"

    @property
    def device(self) -> Path:
        return self.mount / "cached"

    @property
    def backing(self) -> Path:
        return self.folder / "backing"

    @property
    def fast(self) -> Path:
        return self.folder / "fast"

    def run(self, *arguments: str | Path) -> Ran:
        """`flatwater cache ...`, to its end."""
        first, *rest = map(str, arguments)
        return self.lab.run(first, *rest, verb="cache")

    def go(self, *arguments: str | Path) -> dict[str, Any]:
        """As `run`, with --json and without fail; what it told."""
        ran = self.run(*arguments, "--json")
        assert ran.code == 0, ran
        told: dict[str, Any] = json.loads(ran.stdout)
        return told

    def refused(self, *arguments: str | Path, code: int = 2) -> str:
        """As `run`, but it must fail; its one line of error."""
        ran = self.run(*arguments)
        assert ran.code == code, ran
        return ran.error

    def make(self, *options: str, backing_mib: int = 64, size_mib: int = 16, name: str = "db") -> dict[str, Any]:
        """A cache on two files."""
        if not self.backing.exists():
            with self.backing.open("wb") as handle:
                handle.truncate(backing_mib * MIB)
        return self.go(
            "create",
            self.fast,
            self.backing,
            "--name",
            name,
            "--size",
            f"{size_mib}MiB",
            "--set",
            "sequential_bytes=0",
            *options,
        )

    def start(self, *options: str | Path, name: str = "db") -> dict[str, Any]:
        """Serves it through FUSE."""
        self.mount.mkdir(exist_ok=True)
        return self.go("start", name, "--mount", self.mount, *options)

    def status(self, name: str = "db") -> dict[str, Any]:
        (only,) = self.go("status", name)["caches"]
        found: dict[str, Any] = only
        return found

    def kill(self, which: str) -> int:
        """Kills the `serving_process`, or the supervisor's `process`."""
        pid = int(self.status()[which])
        os.kill(pid, signal.SIGKILL)
        return pid

    @staticmethod
    def _until_gone(pid: int) -> None:
        until = time.monotonic() + PATIENCE_S
        while is_running(pid):
            assert time.monotonic() < until, f"process {pid} does not end"
            time.sleep(0.01)

    def wait(self, **wanted: object) -> dict[str, Any]:
        """Until the status says so."""
        until = time.monotonic() + PATIENCE_S
        while True:
            status = self.status()
            if all(status[name] == value for name, value in wanted.items()):
                return status
            assert time.monotonic() < until, f"never {wanted}: {status}"
            time.sleep(0.05)

    def close(self) -> None:
        """Ends what a failed test left."""
        for path in sorted(self.state_dir.glob("running/*/process.json")):
            with suppress(OSError, ValueError):
                pid = json.loads(path.read_text())["pid"]
                children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
                # The child first would be revived; the supervisor first would be replaced by the child: both at once.
                for one in (pid, *map(int, children)):
                    os.kill(one, signal.SIGSTOP)
                for one in (pid, *map(int, children)):
                    os.kill(one, signal.SIGKILL)
                # Until they are gone, their locks are held.
                for one in (pid, *map(int, children)):
                    self._until_gone(one)
        subprocess.run(["umount", "--lazy", str(self.mount)], capture_output=True)
