"""A storage at its limit: known where it was emulated, and unknown where it was real."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from recorded import LIMITED, Hidden, intervals, recorded, throughput

from flatwater.errors import UserError
from flatwater.experiment.device import Use
from flatwater.experiment.device.load import load_device
from flatwater.plan.device import (
    Cached,
    Device,
    Hdd,
    Memory,
    Raid,
    Ssd,
    Volume,
    later,
    write_device,
)
from flatwater.results.schema import Bound, BoundFinding
from flatwater.what_if import Prediction, fit_twin, fitting, parse_changes, predict, read_base
from flatwater.what_if.twin import Scales, Twin

POOL = "innodb_buffer_pool_size"


def quiet(text: str) -> None:
    """Progress that nobody sees."""


def predicted(run: Path, change: str) -> Prediction:
    with Twin(read_base(str(run))) as twin:
        (found,) = predict(twin, fit_twin(twin, quiet), parse_changes(twin, [change]), quiet)
    return found


def test_the_twin_of_an_emulated_run_has_the_limits_of_its_device(tmp_path: Path) -> None:
    """Twice the pool saves requests, and the device does no more than so many."""
    before = throughput(intervals(Hidden(), device=LIMITED))
    truth = throughput(intervals(Hidden(), {POOL: "192M"}, device=LIMITED)) / before
    emulated = predicted(recorded(tmp_path / "emulated", device=LIMITED), f"database.settings.{POOL}=192M")
    assert truth > 1.3, "the limit binds"
    assert emulated.low <= truth <= emulated.high
    assert emulated.ratio == pytest.approx(truth, rel=0.15)


def test_a_change_of_an_emulated_device_is_predicted(tmp_path: Path) -> None:
    found = predicted(
        recorded(tmp_path / "run", device=LIMITED),
        "storage.parameters.iops.baseline=3000,storage.parameters.iops.burst=3000",
    )
    assert found.ratio > 1.2
    assert found.notes == []


def test_a_twin_whose_device_decides_needs_no_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then its error is part of the interval; of a real device there is no twin without a fit."""
    monkeypatch.setattr(fitting, "_solve", lambda *_: None)
    with Twin(read_base(str(recorded(tmp_path / "run", device=LIMITED)))) as twin:
        found = fit_twin(twin, quiet)
        (pool,) = predict(twin, found, parse_changes(twin, [f"database.settings.{POOL}=192M"]), quiet)
    assert [one.name for one in found.explanations] == ["device"]
    error = next(one.error for one in found.compared if one.name == "throughput, nothing fitted")
    assert error is not None
    assert found.residual >= abs(math.log1p(error)) - 1e-9
    assert pool.low > 1.3
    slow = read_base(str(recorded(tmp_path / "real", Hidden(storage=3.0))))
    with Twin(slow) as twin, pytest.raises(UserError, match="cannot be fitted"):
        fit_twin(twin, quiet)


def test_what_another_run_could_differ_by_is_not_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The throughput of a device at its limit hardly depends on CPU: a scale found for noise would be far from 1."""
    monkeypatch.setattr(fitting, "_solve", lambda *_: pytest.fail("a scale was sought"))
    with Twin(read_base(str(recorded(tmp_path / "run", device=LIMITED)))) as twin:
        found = fit_twin(twin, quiet)
    (figures,) = [one for one in found.compared if one.name == "throughput, nothing fitted"]
    assert figures.error is not None and abs(figures.error) < 0.05
    assert all(one.scales == Scales() for one in found.explanations)


def test_a_real_storage_at_its_limit_is_told(tmp_path: Path) -> None:
    full = Bound(name="device throughput", share=0.8, of="time")
    base = read_base(str(recorded(tmp_path / "real", bound=full)))
    assert base.limited == "device throughput"
    assert any("the storage was at its limit" in note for note in base.notes)
    second = Bound(name="CPU", others=[BoundFinding(name="garbage collection", share=0.2, of="time")])
    assert read_base(str(recorded(tmp_path / "second", bound=second))).limited == "garbage collection"
    other = read_base(str(recorded(tmp_path / "other", bound=Bound(name="CPU"))))
    assert (other.limited, other.notes) == ("", [])
    assert read_base(str(recorded(tmp_path / "emulated", device=LIMITED, bound=full))).limited == ""


def _latency_ns(device: Device) -> int:
    match device:
        case Volume():
            return device.read_ns
        case Hdd():
            return device.overhead_ns
        case Memory():
            return device.latency_ns
        case Ssd() | Raid():
            return device.controller.latency_ns
        case Cached():
            return _latency_ns(device.slow)


@pytest.mark.parametrize("name", ["ebs-gp2-100gib", "disk-7200", "violin-memory-appliance", "intel-x25-m", "raid10-8"])
def test_every_kind_of_device_answers_later(name: str) -> None:
    device = write_device(load_device(name, {}), Use(scale=0.05))
    before = _latency_ns(device)
    assert _latency_ns(later(device, 1000)) == before + 1000
    assert _latency_ns(later(device, -(10**12))) == 0
