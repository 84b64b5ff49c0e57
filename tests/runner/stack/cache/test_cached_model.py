"""A modelled cache in an experiment: always the same bytes, its series in their layers, its spec as the file says."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from lab import Lab

sys.path.insert(0, str(Path(__file__).parents[3] / "experiment" / "cache"))
from caches import write

from flatwater.experiment import FlashCache, load
from flatwater.plan.device import Memory, write_cached
from flatwater.plan.fileio import write_modelled_fileio, write_storage
from flatwater.runner.stack.stack import memory_bytes


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def flash(path: Path, *overrides: str) -> FlashCache:
    cache = load(path, overrides).flash_cache
    assert cache is not None
    return cache


def test_the_engine_is_told_what_the_file_says(tmp_path: Path) -> None:
    path = write(tmp_path, {"preset": "vcache", "size": "256MiB", "mode": "write-through", "warm": True})
    spec = write_storage(load(path), asynchronous=True, align_bytes=4096)
    assert (spec.kind, spec.fast_bytes, spec.block_bytes) == ("cached", 2**28, 16384)
    assert (spec.preset, spec.settings, spec.warm) == ("vcache", {"mode": "write-through"}, True)
    assert (spec.fast.kind, spec.slow.kind) == ("memory", "memory")
    assert spec.fast.latency_ns < spec.slow.latency_ns
    fresh = write_modelled_fileio(load(path), 1, fresh=True).device
    assert fresh.warm is False


def test_a_cell_without_it_is_the_storage_alone(tmp_path: Path) -> None:
    spec = write_storage(load(write(tmp_path, {"enabled": False})), asynchronous=True, align_bytes=4096)
    assert spec.kind == "memory"


def test_memory_goes_with_the_blocks(tmp_path: Path) -> None:
    def taken(**cache: Any) -> int:
        return memory_bytes(load(write(tmp_path, {"size": "64MiB"} | cache)))

    without = taken(enabled=False)
    assert taken(block_size="4KiB") - without == 4 * (taken() - without) > 0
    slow = Memory(2**30, 1000, 1e9, 1e9)
    assert write_cached(flash(write(tmp_path)), slow, align_bytes=512).preset is None


def run(lab: Lab, *arguments: str, cache: dict[str, Any], **tables: Any) -> Any:
    return lab.run(write(lab.folder, cache, **tables), "--json", *arguments)


def test_its_series_are_of_the_cache_and_the_storages_of_the_storage(lab: Lab) -> None:
    cell = run(lab, cache={"size": "256MiB"}).cell
    assert cell["layers"]["cache"] == cell["layers"]["storage"] == "modelled"
    assert cell["layers"]["cache_device"].startswith("flash cache of 256 MiB, on The fast appliance")
    assert cell["layers"]["device"].startswith("The slow appliance")
    names = set(cell["metrics"])
    assert {"cache.hit_ratio", "cache.dirty_pct", "cache.write_back_bytes_per_s", "cache.write_amplification"} <= names
    assert {"storage.queue_depth", "cache.fast_queue_depth"} <= names
    assert not [name for name in names if name.startswith("storage.cache.")]


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes_in_another_process(lab: Lab) -> None:
    sweep = {"cache.dirty_high_pct": [10, 50], "cache.enabled": [False, True]}
    file = write(lab.folder, {"size": "128MiB", "warm": True}, sweep=sweep)
    first = lab.start(file, "--json", out=lab.folder / "first").wait()
    second = lab.start(file, "--json", out=lab.folder / "second").wait()
    assert (first.code, second.code) == (0, 0)
    for name in ("series.parquet", "histograms.parquet"):
        assert (first.out / name).read_bytes() == (second.out / name).read_bytes(), name
    by_enabled = {bool(cell["set"]["cache.enabled"]): cell["mean"] for cell in first.cells}
    assert by_enabled[True] > 1.5 * by_enabled[False]


def test_a_warm_cache_hits_from_the_start(lab: Lab) -> None:
    workload = {"mode": "rndrd", "duration_s": 2, "threads": 4}
    hits = {}
    for warm in (False, True):
        file = write(lab.folder, {"size": "1GiB", "warm": warm, "policy": "lru"}, workload=workload)
        cell = lab.run(file, "--json", out=lab.folder / f"warm-{warm}").cell
        hits[warm] = cell["metrics"]["cache.hit_ratio"]["mean"]
    assert hits[False] < 0.05
    assert hits[True] > 0.4


def test_what_only_the_engine_knows_is_told_before_anything_runs(lab: Lab) -> None:
    # flashcache's low mark is 20.
    ran = run(lab, cache={"preset": "flashcache", "size": "128MiB", "dirty_low_pct": 30})
    assert ran.code == 2
    assert "dirty_low_pct" in ran.error and "Traceback" not in ran.stderr
