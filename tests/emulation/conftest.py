"""Emulated devices for the tests of this folder: the installed program serves them, and nothing of them stays."""

from __future__ import annotations

import json
import mmap
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from lab import FLATWATER

from flatwater.runner.stack.served.mounts import loop_devices, unmount

#: For an emulator to be made or to end on a slow machine.
PATIENCE_S = 240.0
BLOCK = 4096


@dataclass
class Emulators:
    """A place to emulate devices in."""

    folder: Path
    running: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def mount(self) -> Path:
        return self.folder / "mount"

    @property
    def device(self) -> Path:
        return self.mount / "device"

    @property
    def backing(self) -> Path:
        return self.folder / "backing"

    def memory(self, **figures: Any) -> Path:
        """The file of an appliance of memory that is as fast as its figures say."""
        told = {"kind": "memory", "title": "A box", "capacity": "64MiB", "latency_us": 0}
        told |= {"read_mib_per_s": 100_000, "write_mib_per_s": 100_000} | figures
        path = self.folder / "box.toml"
        lines = [f"{name} = {json.dumps(value)}" for name, value in told.items()]
        path.write_text("\n".join([*lines, "[sources]", 'latency_us = "made up"', ""]))
        return path

    def launch(self, device: Path | str, *arguments: str, backing: Path | None = None) -> subprocess.Popen[str]:
        """Starts to serve, and does not wait for it."""
        command = [FLATWATER, "emulate", device, "--file", backing or self.backing, "--mount", self.mount, *arguments]
        process = subprocess.Popen(
            [str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.running.append(process)
        return process

    def start(self, device: Path | str, *arguments: str, backing: Path | None = None) -> subprocess.Popen[str]:
        """Serves."""
        process = self.launch(device, *arguments, backing=backing)
        until = time.monotonic() + PATIENCE_S
        while not self.serves():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < until
            time.sleep(0.02)
        return process

    def serves(self) -> bool:
        try:
            os.statvfs(self.mount)  # of what is dead, the kernel still knows names
            return self.device.exists()
        except OSError:
            return False

    def refuse(self, device: Path | str, *arguments: str, backing: Path | None = None) -> str:
        """What it says when it does not serve."""
        process = self.launch(device, *arguments, backing=backing)
        _, said = process.communicate(timeout=PATIENCE_S)
        assert process.returncode in (1, 2), said
        assert len(said.splitlines()) == 1 and said.startswith("error: "), said
        return said

    def stop(self, process: subprocess.Popen[str]) -> str:
        """Ends one as a user does, and gives what it said."""
        process.terminate()
        told, said = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, said
        assert not os.path.ismount(self.mount)
        return told + said

    def stats(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.mount / "stats.json").read_text())
        return found

    def loop(self) -> str:
        """A block device of the served file; `close` detaches it."""
        told = subprocess.run(
            ["losetup", "--find", "--show", "--direct-io=on", "--sector-size", "4096", self.device],
            check=True,
            capture_output=True,
            text=True,
        )
        return told.stdout.strip()

    def mount_volume(self, loop: str) -> Path:
        """Mounts what is on a block device of it; `close` unmounts it."""
        place = self.folder / "volume"
        place.mkdir(exist_ok=True)
        subprocess.run(["mount", "-o", "noatime", loop, place], check=True)
        return place

    def close(self) -> None:
        """Leaves nothing behind, whatever failed."""
        for loop in loop_devices(self.device):
            subprocess.run(["umount", "-l", loop], capture_output=True)
            subprocess.run(["losetup", "--detach", loop], capture_output=True)
        for process in self.running:
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(PATIENCE_S)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
            for stream in (process.stdout, process.stderr):
                if stream is not None:
                    stream.close()
        if os.path.ismount(self.mount) or not self.serves():
            unmount(self.mount, lazily=True)


@pytest.fixture
def emulators(as_root: None, tmp_path: Path) -> Iterator[Emulators]:
    """A place to emulate devices in; skips where none can be."""
    if not Path("/dev/fuse").exists():
        pytest.skip("this kernel has no /dev/fuse: files cannot be served")
    with ExitStack() as stack:
        emulators = Emulators(tmp_path)
        stack.callback(emulators.close)
        yield emulators


@dataclass
class Direct:
    """A file that is read and written past the page cache, a block at a time."""

    path: Path

    def __post_init__(self) -> None:
        self._file = os.open(self.path, os.O_RDWR | os.O_DIRECT)
        self._buffer = mmap.mmap(-1, BLOCK)

    def write(self, block: int, byte: int) -> None:
        self._buffer[:] = bytes([byte]) * BLOCK
        assert os.pwritev(self._file, [self._buffer], block * BLOCK) == BLOCK

    def read(self, block: int) -> bytes:
        assert os.preadv(self._file, [self._buffer], block * BLOCK) == BLOCK
        return bytes(self._buffer)

    def close(self) -> None:
        os.close(self._file)


@pytest.fixture
def direct() -> Iterator[type[Direct]]:
    yield Direct
