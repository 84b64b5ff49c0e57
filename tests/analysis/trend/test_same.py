from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from flatwater.analysis.trend import Run, read_run
from flatwater.analysis.trend.same import machine_text, why_not_comparable
from flatwater.results import open_result

sys.path.insert(0, str(Path(__file__).parent))
from repeated import make_run


def run(folder: Path, number: int, **changes: Any) -> Run:
    return read_run(open_result(make_run(folder, number, 100.0, **changes)), ["mean"])


@pytest.fixture
def base(tmp_path: Path) -> Run:
    return run(tmp_path, 0)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"machine": {"kernel": "6.5", "swappiness": 10}},
        # What the kernel keeps for itself is another amount with each version.
        {"machine": {"memory_bytes": int(68719476736 * 0.99)}},
        {"machine": {"storage": {"device": "/dev/nvme1n1", "path": "/mnt/elsewhere"}}},
        {"experiment": {"title": "Another title", "seed": 7, "storage": {"path": "/mnt/card/two"}}},
        {"flatwater_version": "0.2.0"},
    ],
)
def test_what_may_differ_between_repeated_runs(tmp_path: Path, base: Run, changes: dict[str, Any]) -> None:
    assert why_not_comparable(base, run(tmp_path, 1, **changes)) == []


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"machine": {"cpu": "Example Epyc"}}, "CPU (Example Xeon 2.4 GHz / Example Epyc)"),
        ({"machine": {"cores": 32}}, "cores (16 / 32)"),
        ({"machine": {"memory_bytes": 2**37}}, "memory (64.0 GiB / 128.0 GiB)"),
        ({"machine": {"storage": {"model": "OTHER 1"}}}, "storage (EXAMPLE 960 / OTHER 1)"),
        ({"machine": {"storage": {"file_system": "ext4"}}}, "file system (xfs / ext4)"),
        ({"machine": {"load_hosts": [{"cpu": "x"}]}}, "load hosts (0 / 1)"),
        ({"experiment": {"workload": {"threads": 8}}}, "workload.threads (1 / 8)"),
        ({"experiment": {"workload": {"duration_s": 90}}}, "workload.duration_s (60.0 / 90.0)"),
        ({"experiment": {"storage": {"size": "2GiB"}}}, "storage.size (1 GiB / 2 GiB)"),
        ({"schema_version": 3}, "schema version (4 / 3)"),
        ({"name": "weekly"}, "name (nightly / weekly)"),
        ({"sets": [{"workload.threads": 4}]}, "swept fields (none / workload.threads)"),
    ],
)
def test_what_keeps_two_runs_apart(tmp_path: Path, base: Run, changes: dict[str, Any], why: str) -> None:
    assert why_not_comparable(base, run(tmp_path, 1, **changes)) == [why]


def test_a_device_without_a_model_is_known_by_its_name(tmp_path: Path) -> None:
    pair = [run(tmp_path, at, machine={"storage": {"model": "", "device": f"/dev/vd{at}"}}) for at in (0, 1)]
    assert why_not_comparable(*pair) == ["storage (/dev/vd0 / /dev/vd1)"]


def test_workers_in_another_order_are_the_same(tmp_path: Path) -> None:
    workers = [{"cpu": "a", "cores": 2}, {"cpu": "b", "cores": 4}]
    pair = [run(tmp_path, at, machine={"workers": workers[:: 1 - 2 * at]}) for at in (0, 1)]
    assert why_not_comparable(*pair) == []
    assert why_not_comparable(pair[0], run(tmp_path, 2, machine={"workers": [workers[0], workers[0]]})) == [
        "worker CPU (b / a)",
        "worker cores (4 / 2)",
    ]


def test_a_machine_in_words(base: Run) -> None:
    assert machine_text(base.machine) == "Example Xeon 2.4 GHz, 16 cores, 64.0 GiB, EXAMPLE 960, xfs"
    assert machine_text({}) == "a machine that is not known"
