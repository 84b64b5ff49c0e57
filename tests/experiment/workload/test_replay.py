from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from flatwater.errors import UserError
from flatwater.experiment import Experiment, load, make_experiment
from flatwater.experiment.workload import Replay
from flatwater.plan.requests import ReplayedTrace, precondition_requests, write_requests

LOG = "fio version 3 iolog\n0 f add\n10 f read 0 4096\n20 f write 1048576 8192\n30 f read 8192 4096\n40 f sync 0 0\n"


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "t.iolog"
    path.write_text(LOG)
    return path


def experiment(path: Path, storage: dict[str, Any] | None = None, /, **workload: Any) -> Experiment:
    folder = path.parent
    content = {
        "workload": {"kind": "replay", "trace": str(path), **workload},
        "storage": {"path": str(folder / "data"), "size": "2MiB", **(storage or {})},
    }
    file = folder / "replay.toml"
    file.write_text(tomli_w.dumps(content))
    return load(str(file), [])


def test_the_trace_says_what_is_done(trace: Path) -> None:
    workload = experiment(trace).fileio
    assert isinstance(workload, Replay)
    assert workload.block_sizes == {4096: 50.0, 8192: 50.0} and workload.align_bytes == 4096
    assert workload.read_fraction == pytest.approx(2 / 3)
    assert workload.engine == "io_uring" and workload.queue_depth == 128


def test_in_the_engines_words(trace: Path) -> None:
    workload = experiment(trace, speed="asap", offsets="wrap", repeat=False).fileio
    requests = write_requests(workload, 1, 2**21, 1)
    assert requests.replay == ReplayedTrace(
        path=str(trace),
        format=None,
        speed=0.0,
        offsets="wrap",
        span_bytes=2**20 + 8192,
        align_bytes=4096,
        repeat=False,
    )
    assert precondition_requests(workload, requests).replay is None


def test_it_reads_back_as_it_was(trace: Path) -> None:
    first = experiment(trace, speed=2.5)
    again = make_experiment(first.model_dump())
    assert again.workload == first.workload and isinstance(again.workload, Replay)


@pytest.mark.parametrize(
    ("workload", "said"),
    [
        ({"block_size": "4KiB"}, "has no meaning in a replay: the trace says it"),
        ({"rate_per_s": 100}, "has no meaning in a replay"),
        ({"format": "csv"}, "there is no format 'csv' of traces"),
        ({"format": "msr"}, "not a whole number"),
        ({"trace": "/nowhere/t"}, "cannot be read"),
        ({"speed": -1}, "speed"),
        ({"offsets": "shuffle"}, "offsets"),
        ({"engine": "psync"}, "waits for each request"),
    ],
)
def test_what_cannot_be(trace: Path, workload: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError) as caught:
        experiment(trace, **workload)
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_a_trace_that_needs_more_room(trace: Path) -> None:
    with pytest.raises(UserError, match=r"the trace goes up to byte 1,056,768.*wrap"):
        experiment(trace, {"size": "1MiB"})
    assert experiment(trace, {"size": "1MiB"}, offsets="scale").workload.kind == "replay"


def test_objects_cannot_be_replayed(tmp_path: Path) -> None:
    path = tmp_path / "o"
    path.write_bytes(struct.pack("<IQIq", 1, 2, 3, -1) * 10)
    with pytest.raises(UserError, match="a trace of objects has no requests to a device"):
        experiment(path)
