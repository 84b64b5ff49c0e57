"""What a cache asks of the other layers: the time of everything, or of nothing, is virtual."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "cache"))
from caches import devices, write

from flatwater.errors import UserError
from flatwater.experiment import load, require_runnable

REAL: dict[str, Any] = {"path": "/x", "size": "4GiB"}


def told(path: Path, *overrides: str) -> str:
    with pytest.raises(UserError) as caught:
        load(path, overrides)
    return f"{caught.value}"


def test_virtual_and_real_time_do_not_mix(tmp_path: Path) -> None:
    fast, slow = devices(tmp_path)
    real_time = {"kind": "memory", "device": fast, "real_time": True, "path": "/x"}
    mixed = [
        ({"storage": {"path": "/x"}, "size": "64MiB"}, {}),
        ({"storage": real_time}, {}),
        ({}, {"storage": REAL}),
        ({}, {"storage": {"kind": "memory", "device": slow, "real_time": True, "path": "/y"}}),
    ]
    for cache, tables in mixed:
        assert "virtual time" in told(write(tmp_path, cache, **tables)), (cache, tables)
    served = {"kind": "memory", "device": slow, "real_time": True, "path": "/y"}
    for storage in (REAL, served):
        for below in ({"path": "/x"}, real_time):
            experiment = load(write(tmp_path, {"storage": below, "size": "64MiB"}, storage=storage))
            assert experiment.layers["cache"] == "real"


def test_a_cell_without_the_cache_asks_nothing(tmp_path: Path) -> None:
    path = write(tmp_path, {"enabled": False, "storage": {"path": "/x"}})
    assert load(path).flash_cache is None
    assert "virtual time" in told(path, "cache.enabled=true")


def test_warm_is_for_virtual_time_and_without_preconditioning(tmp_path: Path) -> None:
    assert load(write(tmp_path, {"warm": True})).cache.warm  # type: ignore[union-attr]
    workload = {"mode": "rndwr", "precondition_passes": 1.0}
    assert "not preconditioned" in told(write(tmp_path, {"warm": True}, workload=workload))
    real = {"warm": True, "storage": {"path": "/x"}, "size": "1GiB"}
    assert "no meaning in real time" in told(write(tmp_path, real, storage=REAL))


def test_requests_of_whole_sectors(tmp_path: Path) -> None:
    workload = {"mode": "rndrd", "direct": False, "block_size": 1000}
    path = write(tmp_path, {"storage": {"path": "/x"}, "size": "1GiB"}, workload=workload, storage=REAL)
    assert "whole sectors of 512 B" in told(path)


@pytest.mark.parametrize(
    ("cache", "storage", "missing"),
    [
        ({"storage": {"kind": "memory"}}, None, "cache.storage.device is missing"),
        ({"storage": {}, "size": "1GiB"}, REAL, "cache.storage.path is missing"),
        ({"storage": {"path": "/x"}}, REAL, "cache.size is missing"),
        ({"storage": {"path": "/x"}, "size": "1GiB"}, {"path": "/x"}, "storage.size is missing"),
    ],
)
def test_what_a_run_needs(tmp_path: Path, cache: dict[str, Any], storage: Any, missing: str) -> None:
    experiment = load(write(tmp_path, cache, **({} if storage is None else {"storage": storage})))
    with pytest.raises(UserError, match=missing):
        require_runnable(experiment)


def test_a_run_needs_a_fast_device(tmp_path: Path) -> None:
    path = tmp_path / "template.toml"
    path.write_text(
        '[workload]\nmode = "rndrd"\n[cache]\nkind = "flash"\n[storage]\nkind = "hdd"\ndevice = "disk-15k"\n'
    )
    with pytest.raises(UserError, match=r"cache\.storage is missing"):
        require_runnable(load(path))
