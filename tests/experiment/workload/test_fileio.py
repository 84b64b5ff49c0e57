from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from flatwater.experiment.kinds import ANY
from flatwater.experiment.layers import read_layer
from flatwater.experiment.workload.fileio import MAX_THREADS, Fileio


def fileio(**fields: Any) -> Fileio:
    return Fileio.model_validate({"mode": "rndrw", **fields})


def test_the_defaults_are_sysbench_s() -> None:
    workload = fileio()
    assert (workload.block_size, workload.read_pct, workload.threads, workload.queue_depth) == (16384, 60.0, 1, 1)
    assert (workload.engine, workload.direct, workload.duration_s, workload.unit) == ("psync", True, 60.0, "IOPS")


@pytest.mark.parametrize(
    ("fio", "sysbench"),
    [
        ("read", "seqrd"),
        ("write", "seqwr"),
        ("rw", "seqrw"),
        ("readwrite", "seqrw"),
        ("randread", "rndrd"),
        ("randwrite", "rndwr"),
        ("randrw", "rndrw"),
        ("seqrewr", "seqrewr"),
    ],
)
def test_fio_s_modes_are_understood(fio: str, sysbench: str) -> None:
    assert fileio(mode=fio).mode == sysbench


def test_a_ratio_becomes_a_percentage() -> None:
    assert fileio(rw_ratio=3).read_pct == 75
    assert fileio(rw_ratio=1.5).read_pct == 60
    assert fileio(rw_ratio=0).read_pct == 0
    assert fileio(rw_ratio=3).rw_ratio is None


def test_the_read_fraction_follows_the_mode() -> None:
    assert [fileio(mode=mode, read_pct=70).read_fraction for mode in ("rndrd", "seqwr", "rndrw")] == [1.0, 0.0, 0.7]


def test_mixed_block_sizes() -> None:
    workload = fileio(block_size={"4KiB": 70, "16K": 20, "65536": 10})
    assert workload.block_size == {4096: 70.0, 16384: 20.0, 65536: 10.0}
    assert workload.block_sizes == workload.block_size
    assert fileio(block_size="4KiB").block_sizes == {4096: 100.0}


@pytest.mark.parametrize(
    "mixture", [{}, {"4KiB": 50}, {"4KiB": 100, "4096": 0}, {"4KiB": 50, "4K": 50}, {"x": 100}, {"4KiB": True}]
)
def test_what_is_no_mixture(mixture: Any) -> None:
    with pytest.raises(ValidationError):
        fileio(block_size=mixture)


def test_the_longest_time_of_a_cell() -> None:
    assert fileio(warmup_s="1m", duration_s=30).longest_s == 90
    assert fileio(warmup_s=10, duration_s=30, steady_state="snia", round_s=60, rounds_max=25).longest_s == 1510


@pytest.mark.parametrize(
    "fields",
    [
        {"threads": MAX_THREADS},
        {"engine": "io_uring", "queue_depth": 4096},
        {"verify": True, "block_size": 512},
        {"verify": True, "block_size": "64MiB"},
        {"direct": False, "block_size": 1000},
        {"fsync": "every-write", "fsync_every": 1},
        {"fsync": "end", "fsync_every": 100},
        {"steady_state": "snia", "rounds_max": 5},
        {"block_size": "1GiB"},
    ],
)
def test_what_goes_together(fields: dict[str, Any]) -> None:
    fileio(**fields)


@pytest.mark.parametrize(
    ("fields", "place", "words"),
    [
        ({"threads": MAX_THREADS + 1}, "threads", "limit of 4096"),
        ({"queue_depth": 2}, "queue_depth", "psync"),
        ({"block_size": 1000}, "block_size", "multiple of 512"),
        ({"block_size": {"4KiB": 50, 1000: 50}}, "block_size", "multiple of 512"),
        ({"block_size": "2GiB"}, "block_size", "largest block"),
        ({"verify": True, "direct": False, "block_size": 256}, "block_size", "512 bytes or more"),
        ({"verify": True, "block_size": 64 * 2**20 + 512}, "block_size", "64 MiB or less"),
        ({"verify": True, "block_size": {"4KiB": 50, "8KiB": 50}}, "verify", "mixed"),
        ({"fsync": "every-write", "fsync_every": 2}, "fsync_every", "contradict"),
        ({"steady_state": "snia", "rounds_max": 4}, "rounds_max", "too few"),
        ({"rw_ratio": 1, "read_pct": 50}, "rw_ratio", "twice"),
        ({"precondition_passes": 2, "precondition_block_size": 1000}, "precondition_block_size", "multiple"),
    ],
)
def test_what_does_not(fields: dict[str, Any], place: str, words: str) -> None:
    (problem,) = read_layer("workload", {"mode": "rndrw", **fields}, ANY).problems
    assert problem.field == f"workload.{place}"
    assert words in f"{problem.what} {problem.hint}"
