"""The flash cache's own fields: its device, its size, what of it can be swept."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from caches import FAST, write

from flatwater.errors import UserError
from flatwater.experiment import cell_at, count_cells, device_text, load, to_toml
from flatwater.experiment.cache import BLOCK_SIZES, FlashCache


def flash(path: Path, *overrides: str) -> FlashCache:
    found = load(path, overrides).flash_cache
    assert found is not None
    return found


def test_layers_in_virtual_time(tmp_path: Path) -> None:
    experiment = load(write(tmp_path))
    assert experiment.in_virtual_time
    assert experiment.layers == {"workload": "modelled", "database": "none", "cache": "modelled", "storage": "modelled"}


def test_it_can_be_said_in_a_few_words(tmp_path: Path) -> None:
    path = write(tmp_path, {"preset": "flashcache", "size": "256MiB", "mode": "write-through", "dirty_high_pct": 20})
    told = device_text(load(path))
    assert told is not None
    assert told.endswith(
        "; flash cache of 256 MiB, flashcache's settings, write-through, dirty_high_pct 20.0, "
        f"on The fast appliance ({tmp_path / FAST})"
    )


def test_without_it_is_a_cell_of_the_sweep(tmp_path: Path) -> None:
    experiment = load(write(tmp_path, sweep={"cache.enabled": [False, True]}))
    cells = [cell_at(experiment, number).experiment for number in range(count_cells(experiment))]
    assert [cell.flash_cache is not None for cell in cells] == [False, True]
    assert [cell.layers["cache"] for cell in cells] == ["none", "modelled"]


@pytest.mark.parametrize("size", BLOCK_SIZES)
def test_blocks_of_4_to_64_kib(tmp_path: Path, size: int) -> None:
    assert flash(write(tmp_path, {"block_size": size})).block_size == size


@pytest.mark.parametrize("size", [2048, 4097, 12288, 131072])
def test_no_other_blocks(tmp_path: Path, size: int) -> None:
    with pytest.raises(UserError, match="power of two from 4 to 64 KiB"):
        load(write(tmp_path, {"block_size": size}))


def test_figures_of_its_device_can_be_replaced_and_swept(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        sweep={"cache.storage.parameters.latency_us": [10, 20], "cache.size": ["64MiB", "128MiB"]},
    )
    experiment = load(path, ["cache.storage.parameters.read_mib_per_s=100"])
    caches = [cell_at(experiment, number).experiment.flash_cache for number in range(4)]
    assert [cache.fast.modelled_device.latency_us for cache in caches] == [10, 10, 20, 20]  # type: ignore[union-attr]
    assert [cache.size for cache in caches if cache is not None] == [2**26, 2**27, 2**26, 2**27]
    assert {cache.fast.modelled_device.read_mib_per_s for cache in caches} == {100}  # type: ignore[union-attr]


def test_the_resolved_file_reads_back_as_the_same(tmp_path: Path) -> None:
    cache = {"size": "256MiB", "sequential_bytes": "512KiB", "flush_period_s": "1m"}
    path = write(tmp_path, cache, sweep={"cache.dirty_high_pct": [10, 50]})
    again = tmp_path / "again.toml"
    again.write_text(to_toml(load(path)))
    assert load(again).model_dump(exclude={"name"}) == load(path).model_dump(exclude={"name"})
    assert 'sequential_bytes = "512KiB"' in again.read_text()


@pytest.mark.parametrize(("preset", "low"), [("none", 40.0), ("flashcache", 50.0), ("vcache", 45.0)])
def test_the_low_mark_keeps_its_distance(tmp_path: Path, preset: str, low: float) -> None:
    path = write(tmp_path, {"preset": preset, "dirty_high_pct": 50})
    assert float(flash(path).changes()["dirty_low_pct"]) == pytest.approx(low)
    assert flash(path, "cache.dirty_low_pct=7").changes()["dirty_low_pct"] == "7.0"


def test_a_cache_larger_than_its_device_is_refused_in_any_cell(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"a cache of 2 GiB does not fit the 1 GiB of .*fast.toml"):
        load(write(tmp_path, sweep={"cache.size": ["512MiB", "2GiB"]}))


def test_its_device_is_asked_for_by_its_name(tmp_path: Path) -> None:
    cache = flash(write(tmp_path)).model_copy(update={"storage": None})
    with pytest.raises(UserError, match="the fast device") as caught:
        cache.fast  # noqa: B018 (it raises)
    assert caught.value.where == "cache.storage"
