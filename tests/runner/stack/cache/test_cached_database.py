"""A real MariaDB under TPC-C on a real cache, in one experiment file: it ends clean, and what it left is consistent."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from lab import Lab
from serverlab import SMALL, TPCC

from flatwater.errors import FlatwaterError
from flatwater.server import find_server


def _has_server() -> bool:
    try:
        find_server(None)
    except FlatwaterError:
        return False
    return True


pytestmark = [
    pytest.mark.skipif(
        os.geteuid() != 0 or not Path("/dev/fuse").exists(), reason="mounting a cache needs root and /dev/fuse"
    ),
    pytest.mark.skipif(not _has_server(), reason="there is no database server on this machine"),
]


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def places(lab: Lab) -> list[str]:
    """Where the disk and the cache are, as `--set` takes them."""
    for name in ("slow", "fast"):
        (lab.folder / name).mkdir()
    slow, fast = lab.folder / "slow", lab.folder / "fast"
    return ["--set", f"storage.path={slow}", "--set", f"cache.storage.path={fast}"]


def nothing_is_left(folder: Path) -> bool:
    mounts = Path("/proc/self/mountinfo").read_text()
    loops = subprocess.run(["losetup", "--list", "--output", "BACK-FILE"], capture_output=True, text=True).stdout
    return str(folder) not in mounts and str(folder) not in loops


def consistent(cell: dict[str, Any]) -> bool:
    checked = [one for one in cell["consistency"] if one["applies"]]
    return bool(checked) and all(one["holds"] for one in checked)


@pytest.mark.timeout(600)
def test_a_server_on_a_cache(lab: Lab) -> None:
    file = lab.folder / "cached.toml"
    content = {
        "workload": TPCC | {"duration_s": 2},
        "database": {"kind": "server", "settings": SMALL},
        "cache": {"kind": "flash", "size": "64MiB", "preset": "flashcache", "dirty_high_pct": 50},
        "storage": {"size": "1GiB"},
    }
    file.write_text(tomli_w.dumps(content))
    ran = lab.run(file, "--json", "--yes", *places(lab))
    ran.check()
    cell = ran.cell
    assert (cell["status"], cell["errors"]) == ("complete", 0)
    assert cell["mean"] > 0
    assert cell["layers"]["cache"] == cell["layers"]["database"] == "real"
    assert consistent(cell), cell["consistency"]
    # The server's own writes went into the cache, and more than it holds went through it.
    assert cell["metrics"]["cache.used_pct"]["max"] > 50
    assert cell["metrics"]["cache.dirty_pct"]["max"] > 0
    assert nothing_is_left(lab.folder)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_order_that_was_published(lab: Lab) -> None:
    """Disks, then write-through, then write-back: the cells of flashcache-small, and their order alone."""
    fewer = ["--set", "workload.warmup_s=5", "--set", "workload.duration_s=15"]
    ran = lab.run("flashcache-small", "--json", "--yes", *places(lab), *fewer)
    ran.check()
    assert all(cell["errors"] == 0 and consistent(cell) for cell in ran.cells)
    mean = {
        (cell["set"]["cache.enabled"], cell["set"]["cache.mode"], cell["set"]["cache.dirty_high_pct"]): cell["mean"]
        for cell in ran.cells
    }
    disks, through = mean[False, "write-back", 20], mean[True, "write-through", 20]
    back = [value for (enabled, mode, _), value in mean.items() if enabled and mode == "write-back"]
    assert len(back) == 2
    assert disks < through < min(back), mean
    assert nothing_is_left(lab.folder)
