from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import benchmarks.model.child
import pytest
from benchmarks.model.child import Told, run_modelled

from flatwater.errors import FlatwaterError

EXPERIMENTS = Path(benchmarks.model.child.__file__).parent
SMALL = "storage.capacity_scale=0.01"
#: Of the machine, not of the model.
TIMES = {
    "open_cpu_s": 0.0,
    "run_cpu_s": 0.0,
    "device_bytes": 0,
    "half_rss_bytes": 0,
    "end_rss_bytes": 0,
}


def run(folder: Path, name: str, *fields: str, intervals: int = 2) -> Told:
    return run_modelled(folder, EXPERIMENTS / name, intervals, SMALL, *fields)


def test_a_full_card_collects_and_a_fresh_one_has_nothing_to(tmp_path: Path) -> None:
    steady, fresh = run(tmp_path, "steady.toml"), run(tmp_path, "fresh.toml", intervals=1)
    for told in (steady, fresh):
        assert told.operations > 0
        assert told.flash_pages > 0
        assert told.run_cpu_s > 0
        assert told.device_bytes > 0
        assert told.end_rss_bytes >= told.half_rss_bytes > told.device_bytes
    assert steady.write_amplification > 1.1
    # What is in its buffer when the second ends has yet to be programmed.
    assert fresh.write_amplification == pytest.approx(1.0, rel=0.01)


def test_the_same_run_does_the_same(tmp_path: Path) -> None:
    first, again = (replace(run(tmp_path, "steady.toml"), **TIMES) for _ in range(2))
    assert first == again
    longer = run(tmp_path, "steady.toml", intervals=4)
    assert longer.operations > first.operations
    assert longer.flash_pages == first.flash_pages


def test_a_field_that_is_wrong_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(FlatwaterError, match="storage"):
        run(tmp_path, "steady.toml", "storage.device=no-such-card")
