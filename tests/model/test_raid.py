"""Modelled arrays through the engine: the published figures of one, and what happens to all."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from flatwater.experiment.device import ArrayEvent, RaidDevice
from flatwater.experiment.device.load import load_device

sys.path.insert(0, str(Path(__file__).parent))
from driven import Driven, drive, spec_of

MIB = 2**20
SECOND_NS = 10**9


def array(name: str, **parameters: Any) -> RaidDevice:
    device = load_device(name, parameters)
    assert isinstance(device, RaidDevice)
    return device


def mean_between(run: Driven, begin_s: int, end_s: int) -> float:
    rates = run.rates[begin_s:end_s]
    return sum(rates) / len(rates)


#: Requests a second: experiments/array-perc5.toml has them with their sources.
PERC5 = [
    # reads, MiB, threads, files, battery, published, warm-up s
    (True, 128, 1, 1, True, 12897, 60),
    (True, 128, 64, 1, True, 23727, 30),
    (False, 128, 1, 1, False, 142.6, 300),
    (False, 128, 64, 1, False, 142.6, 300),
    (False, 128, 64, 128, False, 827.9, 60),
    (False, 128, 1, 1, True, 4735, 30),
    (False, 128, 64, 1, True, 4740, 30),
    (False, 128, 64, 128, True, 5228, 30),
    (True, 2048, 1, 1, True, 259, 60),
    (True, 2048, 64, 1, True, 2334, 30),
    (False, 2048, 1, 1, True, 583, 60),
    (False, 2048, 64, 1, True, 606, 60),
]


@pytest.mark.parametrize(("reads", "mib", "threads", "files", "battery", "published", "warmup_s"), PERC5)
def test_the_published_array_is_met_by_one_set_of_figures(
    reads: bool, mib: int, threads: int, files: int, battery: bool, published: float, warmup_s: int
) -> None:
    device = array("perc5-6x10k-raid5", **{"controller.battery": battery})
    run = drive(
        spec_of(device),
        reads=reads,
        size_bytes=mib * MIB,
        threads=threads,
        files=files,
        exclusive_writes=True,
        warmup_s=warmup_s,
        seconds=60,
    )
    assert run.mean == pytest.approx(published, rel=0.15)
    assert run.storage[-1]["write_back"] == float(battery)


def test_a_relearn_takes_write_back_away() -> None:
    events = (ArrayEvent(kind="relearn", at_s=20, duration_s=20),)
    spec = spec_of(array("perc5-6x10k-raid5"), events=events)
    run = drive(spec, reads=False, size_bytes=128 * MIB, threads=16, seconds=60)
    assert mean_between(run, 22, 40) < mean_between(run, 5, 20) / 3
    assert mean_between(run, 42, 60) > 0.8 * mean_between(run, 5, 20)
    assert [run.storage[second]["write_back"] for second in (10, 30, 50)] == [1, 0, 1]
    assert [text.partition(":")[2].strip() for _, text in run.incidents] == ["write-through", "write-back"]


def test_a_life_of_an_array() -> None:
    events = (
        ArrayEvent(kind="patrol", at_s=60, duration_s=60),
        ArrayEvent(kind="check", at_s=150, duration_s=60),
        ArrayEvent(kind="fail", at_s=240, member=2),
        ArrayEvent(kind="replace", at_s=300, member=2),
    )
    spec = spec_of(array("perc5-6x10k-raid5"), scale=0.002, events=events)
    run = drive(spec, reads=True, size_bytes=512 * MIB, threads=16, seconds=600)
    normal = mean_between(run, 5, 60)
    assert mean_between(run, 62, 70) < 0.95 * normal, "a patrol read takes its share"
    assert mean_between(run, 152, 160) < 0.97 * normal, "a consistency check takes its share"
    assert mean_between(run, 242, 300) < 0.9 * normal, "a member's reads need all others"
    assert mean_between(run, 550, 600) > 0.95 * normal
    assert run.storage[62]["patrol_pct"] > 0 and run.storage[152]["check_pct"] > 0
    assert run.storage[302]["rebuild_pct"] < 100
    assert run.storage[270]["members_working"] == 5
    assert "member2_busy_pct" not in run.storage[270] and "member1_busy_pct" in run.storage[270]
    told = [text for _, text in run.incidents]
    assert told[0] == "patrol read began" and "member 2 failed" in told
    assert "rebuild of member 2 began" in told and "rebuild of member 2 ended" in told
    assert run.storage[-1]["members_working"] == 6
    assert run.errors == 0


def test_raid10_reads_and_loses_a_pair() -> None:
    device = array("raid10-8")
    degraded = (
        ArrayEvent(kind="fail", at_s=20, member=2),
        ArrayEvent(kind="fail", at_s=30, member=3),
    )
    spec = spec_of(device, scale=0.01, events=degraded)
    run = drive(spec, reads=True, size_bytes=8 * 2**30, threads=32, seconds=40)
    assert mean_between(run, 22, 30) < 0.95 * mean_between(run, 5, 20)
    assert run.errors > 0
    assert any("lost" in text for _, text in run.incidents)
    assert not any(time_s < 30 for time_s, text in run.incidents if "lost" in text)


@pytest.mark.slow
def test_ssds_of_one_age_wear_out_together() -> None:
    device = array("raid10-8", device="intel-x25-m", level=5, members=4, capacity="479GB")
    spec = spec_of(device, scale=0.005, life_used=0.82)
    size_bytes = spec["capacity_bytes"]
    run = drive(spec, reads=False, size_bytes=size_bytes, threads=16, seconds=3000, interval_s=20, until="lost")
    first = run.storage[0]
    wear = [first[f"member{number}_media_wearout"] for number in range(4)]
    assert max(wear) - min(wear) < 2, "they have one age"
    assert min(wear) < 25
    gone = [(time_s, text) for time_s, text in run.incidents if "worn out" in text]
    assert len(gone) >= 2
    assert any("lost" in text for _, text in run.incidents)


def test_seed_and_spec_give_the_same_run() -> None:
    spec = spec_of(array("perc5-6x10k-raid5"))
    runs = [drive(spec, reads=False, size_bytes=2**31, seconds=3, threads=8, seed=seed) for seed in (1, 1, 2)]
    assert runs[0].intervals == runs[1].intervals
    assert runs[0].intervals != runs[2].intervals
