"""A cache in front of a storage that a part of a real server is on, through `flatwater run`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from serverlab import OLTP, ServerLab, made_in

from flatwater.owned.mounted import read_mounts

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not Path("/dev/fuse").exists(), reason="mounting a cache needs root and /dev/fuse"
)


@pytest.fixture
def places(tmp_path: Path) -> dict[str, Path]:
    """Directories for the cached device and for the cache."""
    made = {name: tmp_path / name for name in ("slow", "fast")}
    for path in made.values():
        path.mkdir()
    return made


def tables(places: dict[str, Path], **slow: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields of the database and of the cache."""
    storage = {"path": str(places["slow"]), "size": "256MiB", **slow}
    database = {"placement": {"tables": {"sbtest1": "slow"}}, "storages": {"slow": storage}}
    cache = {"kind": "flash", "before": "slow", "size": "32MiB", "storage": {"path": str(places["fast"])}}
    return database, cache


def check_clean(servers: ServerLab, places: dict[str, Path]) -> None:
    servers.check_clean()
    below = [mount["target"] for mount in read_mounts() if mount["target"].startswith(str(places["slow"]))]
    assert below == []
    assert made_in(places["slow"], "flatwater-parts/run/*") == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("slow", "busy"),
    [({}, "utilisation_pct"), ({"kind": "hdd", "device": "disk-15k", "real_time": True}, "busy_pct")],
    ids=["files", "emulated"],
)
def test_the_part_is_behind_the_cache(
    servers: ServerLab, places: dict[str, Path], slow: dict[str, Any], busy: str
) -> None:
    database, cache = tables(places, **slow)
    file = servers.write({**OLTP, "duration_s": 3}, database, cache=cache, sweep={"cache.enabled": [True, False]})
    ran = servers.run(file)
    assert ran.code == 0, ran.stderr
    behind, plain = ran.cells
    told = behind["layers"]["storage slow"]
    assert "behind a flash cache" in told and "table sbtest1" in told
    assert f"storage.slow_{busy}" in behind["metrics"]
    assert "storage.slow_cache_dirty_blocks" in behind["metrics"] and "cache.dirty_blocks" not in behind["metrics"]
    assert "behind a flash cache" not in plain["layers"]["storage slow"]
    assert "storage.slow_cache_dirty_blocks" not in plain["metrics"]
    check_clean(servers, places)


@pytest.mark.slow
def test_the_open_table_is_on_the_cache(servers: ServerLab, places: dict[str, Path]) -> None:
    database, cache = tables(places)
    run = servers.start(servers.write({**OLTP, "duration_s": 5}, database, cache=cache))
    run.until_recorded(2)
    opened = set()
    for process in servers.processes():
        opened |= {str(link.readlink()) for link in Path(f"/proc/{process.pid}/fd").iterdir()}
    (table,) = (path for path in opened if path.endswith("/sbtest1.ibd"))
    assert table.startswith(f"{places['slow']}/flatwater-cached/volume/")
    assert run.wait().code == 0
    check_clean(servers, places)


def test_a_place_that_there_is_not(servers: ServerLab, places: dict[str, Path]) -> None:
    database, cache = tables(places, path=str(places["slow"] / "nowhere"))
    ran = servers.go(OLTP, database, cache=cache)
    assert ran.code == 2 and "database.storages.slow.path" in ran.error, ran.error
    servers.check_clean()


def test_a_cached_device_without_room(servers: ServerLab, places: dict[str, Path]) -> None:
    database, cache = tables(places, size="1PiB")
    ran = servers.go(OLTP, database, cache=cache)
    assert ran.code == 2 and "database.storages.slow.size" in ran.error, ran.error
    servers.check_clean()
