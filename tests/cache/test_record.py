"""A trace of what a cache is asked: recorded while it serves, shown, simulated, replayed, real and modelled."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from cachelab import CacheLab

BLOCK = 16384


def _use(caches: CacheLab, *, blocks: int, first: int = 0) -> None:
    """Writes so many blocks, flushes, and reads them."""
    handle = os.open(caches.device, os.O_RDWR)
    for number in range(first, first + blocks):
        os.pwrite(handle, os.urandom(BLOCK), number * 5 * BLOCK)
    os.fsync(handle)
    for number in range(first, first + blocks):
        os.pread(handle, BLOCK, number * 5 * BLOCK)
    os.close(handle)


def _trace(caches: CacheLab, verb: str, path: Path, *options: str) -> Any:
    ran = caches.lab.run(verb, str(path), *options, "--json", verb="trace")
    assert ran.code == 0, ran
    return json.loads(ran.stdout)


def _counts(shown: Any) -> tuple[int, int, int]:
    requests = shown["requests"]
    return requests["read"], requests["write"], requests["flush"]


def _replay(caches: CacheLab, trace: Path, name: str, **rest: object) -> dict[str, Any]:
    file = caches.folder / f"{name}.toml"
    workload = {"kind": "replay", "trace": str(trace), "speed": "asap", "duration_s": 1}
    file.write_text(tomli_w.dumps({"workload": workload, **rest}))
    ran = caches.lab.run(str(file), "--json", out=caches.folder / f"result-{name}", verb="run")
    assert ran.code == 0, ran
    cell: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return cell


def test_a_recording_is_made_shown_simulated_and_replayed(mounted: CacheLab) -> None:
    mounted.make()
    trace = mounted.folder / "requests.trace"
    mounted.start("--record", trace)
    _use(mounted, blocks=40)
    mounted.go("stop", "db")
    told = _trace(mounted, "show", trace)
    assert _counts(told) == (40, 40, 1)
    (simulated,) = _trace(mounted, "simulate", trace, "--policy", "lru", "--size", "1MiB", "--block-size", "16KiB")[
        "caches"
    ]
    assert simulated["policy"] == "lru"
    real = _replay(mounted, trace, "real", storage={"path": str(mounted.folder / "data"), "size": "16MiB"})
    assert real["mean"] > 0
    cache = {"kind": "flash", "size": "8MiB", "storage": {"kind": "ssd", "device": "fusion-io-iodrive-160-slc"}}
    disk = {"kind": "hdd", "device": "disk-7200", "size": "16MiB"}
    modelled = _replay(mounted, trace, "modelled", storage=disk, cache=cache)
    assert modelled["mean"] > 0


def test_recording_is_switched_on_and_off_and_goes_on_after_a_kill(mounted: CacheLab) -> None:
    mounted.make()
    mounted.start()
    trace = mounted.folder / "requests.trace"
    _use(mounted, blocks=5)
    assert mounted.go("record", "db", trace)["record"] == str(trace)
    assert mounted.status()["record"] == str(trace)
    _use(mounted, blocks=10)
    mounted.go("restart", "db")
    _use(mounted, blocks=10, first=10)
    assert mounted.status()["record"] == str(trace)
    told = mounted.go("record", "db", "--stop")
    assert (told["record"], told["recorded"]) == (None, str(trace))
    _use(mounted, blocks=5)
    shown = _trace(mounted, "show", trace)
    assert _counts(shown) == (20, 20, 2)
    # Through the file beside the exported one, and through a kill.
    (mounted.mount / "settings/record").write_text(f"{trace}\n")
    mounted.wait(record=str(trace))
    mounted.kill("serving_process")
    mounted.wait(state="serving", restarts=2)
    assert (mounted.mount / "settings/record").read_text() == f"{trace}\n"
    mounted.go("stop", "db")


@pytest.mark.parametrize("verb", ["cache", "trace"])
def test_what_cannot_be_recorded_is_refused(mounted: CacheLab, verb: str) -> None:
    def refused(*arguments: str | Path) -> str:
        ran = mounted.lab.run("record", *map(str, arguments), verb=verb)
        assert ran.code == 2, ran
        return ran.error

    mounted.make()
    trace = mounted.folder / "requests.trace"
    assert "does not run" in refused("db", trace)
    mounted.start()
    assert "give a TRACE" in refused("db") and "give a TRACE" in refused("db", trace, "--stop")
    assert "on the cached device itself" in refused("db", mounted.mount / "trace")
    assert "is not a directory" in refused("db", mounted.folder / "no" / "trace")
    trace.write_bytes(b"precious")
    assert "not a recording" in refused("db", trace)
    assert trace.read_bytes() == b"precious"
