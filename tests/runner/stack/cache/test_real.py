"""A real flash cache under a workload: files below, a mount in between, nothing left behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from lab import Lab

sys.path.insert(0, str(Path(__file__).parents[3] / "experiment" / "cache"))
from caches import FAST, devices

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not Path("/dev/fuse").exists(), reason="mounting a cache needs root and /dev/fuse"
)

WORKLOAD = {"mode": "rndrw", "duration_s": 2, "threads": 4, "files": 1}


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def write(lab: Lab, cache: dict[str, Any] = {}, **tables: Any) -> Path:  # noqa: B006 (read only)
    """An experiment on a cache of 32 MiB in front of 64 MiB, both of them files."""
    for name in ("slow", "fast"):
        (lab.folder / name).mkdir(exist_ok=True)
    content: dict[str, Any] = {
        "workload": WORKLOAD,
        "cache": {"kind": "flash", "size": "32MiB", "storage": {"path": str(lab.folder / "fast")}} | cache,
        "storage": {"path": str(lab.folder / "slow"), "size": "64MiB"},
        "record": {"interval_s": 0.25},
    } | tables
    path = lab.folder / "cached.toml"
    path.write_text(tomli_w.dumps(content))
    return path


def nothing_is_left(folder: Path) -> bool:
    mounts = Path("/proc/self/mountinfo").read_text()
    loops = subprocess.run(["losetup", "--list", "--output", "BACK-FILE"], capture_output=True, text=True).stdout
    return str(folder) not in mounts and str(folder) not in loops


def test_fileio_through_the_cache(lab: Lab) -> None:
    ran = lab.run(write(lab), "--json", "--yes")
    ran.check()
    cell = ran.cell
    assert (cell["status"], cell["errors"]) == ("complete", 0)
    assert cell["layers"]["cache"] == cell["layers"]["storage"] == "real"
    assert cell["layers"]["cache_device"].startswith("flash cache of 32 MiB")
    assert {"cache.hit_ratio", "cache.dirty_pct", "cache.used_pct"} <= set(cell["metrics"])
    assert cell["metrics"]["cache.used_pct"]["max"] > 0
    assert nothing_is_left(lab.folder)


def test_what_was_written_is_read_back(lab: Lab) -> None:
    ran = lab.run(
        write(lab, workload=WORKLOAD | {"mode": "rndwr", "verify": True}, storage=ext4(lab)), "--json", "--yes"
    )
    ran.check()
    assert ran.cell["errors"] == 0
    assert nothing_is_left(lab.folder)


def ext4(lab: Lab) -> dict[str, Any]:
    """A modelled slow device in real time, with a file system on what the cache serves of it."""
    _, slow = devices(lab.folder)
    (lab.folder / "slow").mkdir(exist_ok=True)
    figures = {"latency_us": 500, "capacity": "256MiB"}
    told = {"kind": "memory", "device": slow, "parameters": figures, "real_time": True, "file_system": "ext4"}
    return told | {"path": str(lab.folder / "slow"), "size": "128MiB", "fill": 0.25}


def test_over_emulated_devices(lab: Lab) -> None:
    devices(lab.folder)
    (lab.folder / "fast").mkdir()
    fast = {"kind": "memory", "device": str(lab.folder / FAST), "real_time": True, "path": str(lab.folder / "fast")}
    slow = {name: value for name, value in ext4(lab).items() if name not in ("file_system", "fill")}
    ran = lab.run(write(lab, {"storage": fast}, storage=slow), "--json", "--yes")
    ran.check()
    names = set(ran.cell["metrics"])
    assert {"storage.queue_depth", "cache.fast_queue_depth", "cache.hit_ratio"} <= names
    assert ran.cell["layers"]["cache_device"].endswith("in real time")
    assert nothing_is_left(lab.folder)


def test_without_the_cache_it_is_served_in_the_same_way(lab: Lab) -> None:
    ran = lab.run(write(lab, sweep={"cache.enabled": [False, True]}), "--json", "--yes")
    ran.check()
    assert [cell["layers"]["cache"] for cell in ran.cells] == ["none", "real"]
    assert "cache.hit_ratio" not in ran.cells[0]["metrics"]
    assert nothing_is_left(lab.folder)


def test_its_places_are_directories(lab: Lab) -> None:
    ran = lab.run(write(lab, {"storage": {"path": "/dev/null"}}), "--json", "--yes")
    assert ran.code == 2
    assert "cache.storage.path" in ran.error
