from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from caches import write

from flatwater.experiment import load


def test_without_a_cache_there_is_none(tmp_path: Path) -> None:
    experiment = load(write(tmp_path, cache=None))
    assert (experiment.cache.kind, experiment.flash_cache, experiment.layers["cache"]) == ("none", None, "none")


def test_an_experiment_can_be_run_without_its_cache(tmp_path: Path) -> None:
    path = write(tmp_path, sweep={"cache.dirty_high_pct": [10, 50], "workload.threads": [1, 2]})
    experiment = load(path, ["cache.kind=none"])
    assert experiment.cache.kind == "none"
    assert experiment.sweep.fields == ["workload.threads"]
