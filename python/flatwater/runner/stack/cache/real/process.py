"""A flash cache in a process of its own, for a run that measures something on it.

The first line of its standard input says what to serve (served/process.py). With the word `drain` before the end, all
that is dirty is written back first.
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

#: The file under the mount that is the cached device (crates/serve/src/cache/files.rs), and the source of our mounts.
DEVICE_FILE = "cached"
MOUNT_SOURCE = "flatwater-run-cache"
#: How long a drained cache may take: what a slow disk of 100 writes a second needs for a few GiB.
DRAIN_S = 3600.0
#: A pairing record has a block of its own.
PAIR_BYTES = 4096
#: Said before the end: the storage is to have everything.
DRAIN = "drain\n"


class Request(TypedDict, total=False):
    """What the process is asked to serve."""

    #: The storage without a cache; what is said of the fast device is then missing.
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
    #: The file system on the cached device, if one is asked for, where it is mounted, and whether it is made.
    file_system: str | None
    folder: str
    make: bool
    interval_s: float


class ServedCache(ServedProcess):
    """The process, as the run sees it."""

    module: ClassVar[str] = __name__
    what: ClassVar[str] = "the cache"
    layer: ClassVar[str] = "cache"
    end_s: ClassVar[float] = DRAIN_S


def serve(request: Request) -> None:
    """Makes an empty cache, and serves it until standard input is closed. `plain`: the storage without one."""
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
        _watch(server, request["interval_s"], tells=not request["plain"])
        drained = bool(sys.stdin.readline())
    finally:
        if volume is not None:
            volume.close()
        if server is None:
            # Nobody answers, so that to unmount would take for ever: without the descriptor it does not.
            os.close(descriptor)
        if not _unmount(mount):
            # Whoever serves it does not answer. What keeps the mount alive ends with this process.
            send(error="it did not let its mount go")
            os._exit(1)
        if server is not None:
            os.close(descriptor)
            server.stop(drained)


def _plain(request: Request) -> plan.CacheServer:
    # Three files are opened, two of which nothing is done with.
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
    """Makes a file of the run's, which is there and is no link, a block of zeros."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC), "wb") as handle:
        handle.write(bytes(PAIR_BYTES))


def _watch(server: CacheServer, interval_s: float, *, tells: bool) -> None:
    """Sends what it counts once an interval, until somebody says that it is enough."""
    before, at_s = json.loads(server.statistics())["statistics"], time.monotonic()
    while not select.select([sys.stdin], [], [], max(0.0, at_s + interval_s - time.monotonic()))[0]:
        now_s, counted = time.monotonic(), json.loads(server.statistics())
        now = counted["statistics"]
        series = cache_series(before, now, counted["settings"], now_s - at_s) if tells else {}
        send(series=series, incidents=[(at_ns / 1e9, text) for at_ns, text in server.told()])
        before, at_s = now, now_s
        trouble = server.trouble()
        if trouble is not None:
            raise FlatwaterError(trouble)
        if server.over() is not None:
            raise FlatwaterError("somebody unmounted it")


def _unmount(mount: Path) -> bool:
    """Unmounts; False when that does not end. Somebody who still uses it loses it."""
    deadline = time.monotonic() + PATIENCE_S
    for lazily in (False, True):
        while time.monotonic() < deadline or lazily:
            # Not waited for: in the kernel it waits for an answer of this very process.
            asked = subprocess.Popen(["umount", *(["-l"] if lazily else []), str(mount)], stderr=subprocess.DEVNULL)
            while asked.poll() is None and time.monotonic() < deadline + PATIENCE_S:
                time.sleep(0.05)
            if asked.poll() is None:
                return False
            if asked.returncode == 0 or lazily:
                return True
            time.sleep(0.2)
    return True


if __name__ == "__main__":
    sys.exit(run_process(serve))
