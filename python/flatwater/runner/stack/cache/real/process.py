"""The process that serves a flash cache during a run.

The first line of its standard input says what it serves (served/process.py). If the run sends the word `drain` before
it closes the input, the process first writes back all dirty blocks.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
import uuid
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, TypedDict

from flatwater._engine import CacheServer, cache_make, cache_mount
from flatwater.engine_json import to_json
from flatwater.errors import FlatwaterError
from flatwater.plan import cache as plan
from flatwater.runner.stack.cache.real.series import cache_series
from flatwater.runner.stack.served.process import ServedProcess, run_process, send
from flatwater.runner.stack.served.volume import PATIENCE_S, Volume

#: The cached device: its file under the mount point (crates/serve/src/cache/files.rs), and the source of the mount.
DEVICE_FILE = "cached"
MOUNT_SOURCE = "flatwater-run-cache"
#: Seconds for a drain: enough for a few GiB on a slow disk with 100 writes a second.
DRAIN_S = 3600.0
#: Size of the pairing record: one block.
PAIR_BYTES = 4096
#: Sent before the end when the storage must get all dirty blocks.
DRAIN = "drain\n"


class Request(TypedDict, total=False):
    """What the process has to serve."""

    #: Whether to serve the storage without a cache. The fields of the fast device are then missing.
    plain: bool
    fast: str
    fast_bytes: int
    block_bytes: int
    preset: str | None
    settings: dict[str, str]
    slow: str
    slow_bytes: int
    pair: str
    mount: str
    #: The file system on the cached device (or None), its mount point, and whether to make it.
    file_system: str | None
    folder: str
    make: bool
    interval_s: float


class ServedCache(ServedProcess):
    """The run's side of the process."""

    module: ClassVar[str] = __name__
    what: ClassVar[str] = "the cache"
    layer: ClassVar[str] = "cache"
    end_s: ClassVar[float] = DRAIN_S


def serve(request: Request) -> None:
    """Makes an empty cache, and serves it until standard input closes. With `plain`, serves the storage without one."""
    served = _plain(request) if request["plain"] else _make(request)
    mount = Path(request["mount"])
    descriptor, protocol = cache_mount(mount, MOUNT_SOURCE)
    server: CacheServer | None = None
    volume: Volume | None = None
    drained = False
    try:
        fuse = plan.Fuse(descriptor, plan.Protocol(**json.loads(protocol)))
        server = CacheServer(to_json(replace(served, fuse=fuse)))
        if request["file_system"]:
            volume = Volume(mount / DEVICE_FILE, Path(request["folder"]), request["file_system"])
            volume.open(make=request["make"])
        send(ready=True)
        _watch(server, request["interval_s"], sends_series=not request["plain"])
        drained = bool(sys.stdin.readline())
    finally:
        if volume is not None:
            volume.close()
        if server is None:
            # No server answers yet, and an unmount would wait for it for ever. Without the descriptor it returns.
            os.close(descriptor)
        if not _unmount(mount):
            # The server does not answer. The end of this process also ends the mount.
            send(error="it did not let its mount go")
            os._exit(1)
        if server is not None:
            os.close(descriptor)
            server.stop(drained)


def _plain(request: Request) -> plan.CacheServer:
    # The engine opens three files, and does not use two of them.
    pair = Path(request["pair"])
    fast = pair.with_name("no-cache")
    for path in (pair, fast):
        _zero(path)
    settings = plan.settings_of(None)
    return plan.CacheServer(
        name="run", plain=True, fast=str(fast), slow=request["slow"], pair=str(pair), settings=settings
    )


def _make(request: Request) -> plan.CacheServer:
    fast, slow, pair = request["fast"], request["slow"], request["pair"]
    _zero(Path(pair))
    wanted = plan.NewCache(
        fast=fast,
        slow=slow,
        pair=pair,
        uuid=str(uuid.uuid4()),
        fast_bytes=request["fast_bytes"],
        slow_bytes=request["slow_bytes"],
        block_bytes=request["block_bytes"],
        force=True,
    )
    cache_make(to_json(wanted))
    settings = plan.settings_of(request["preset"], request["settings"].items())
    return plan.CacheServer(name="run", fast=fast, slow=slow, pair=pair, settings=settings)


def _zero(path: Path) -> None:
    """Makes a file of the run an empty block of zeros. The file must exist and must not be a link."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC), "wb") as handle:
        handle.write(bytes(PAIR_BYTES))


def _watch(server: CacheServer, interval_s: float, *, sends_series: bool) -> None:
    """Sends the statistics once an interval, until the end is umount for."""
    before, at_s = json.loads(server.statistics())["statistics"], time.monotonic()
    while not select.select([sys.stdin], [], [], max(0.0, at_s + interval_s - time.monotonic()))[0]:
        now_s, counted = time.monotonic(), json.loads(server.statistics())
        now = counted["statistics"]
        series = cache_series(before, now, counted["settings"], now_s - at_s) if sends_series else {}
        send(series=series, incidents=[(at_ns / 1e9, text) for at_ns, text in server.told()])
        before, at_s = now, now_s
        trouble = server.trouble()
        if trouble is not None:
            raise FlatwaterError(trouble)
        if server.over() is not None:
            raise FlatwaterError("somebody unmounted it")


def _unmount(mount: Path) -> bool:
    """Unmounts; returns False if that does not end. It then detaches the mount from processes that still use it."""
    deadline = time.monotonic() + PATIENCE_S
    for lazily in (False, True):
        while time.monotonic() < deadline or lazily:
            # Not a blocking call: the kernel waits in it for an answer of this process.
            umount = subprocess.Popen(["umount", *(["-l"] if lazily else []), str(mount)], stderr=subprocess.DEVNULL)
            while umount.poll() is None and time.monotonic() < deadline + PATIENCE_S:
                time.sleep(0.05)
            if umount.poll() is None:
                return False
            if umount.returncode == 0 or lazily:
                return True
            time.sleep(0.2)
    return True


if __name__ == "__main__":
    sys.exit(run_process(serve))
