"""Which file may be served as which device; nothing is mounted here."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flatwater.errors import UserError
from flatwater.experiment.device import Use
from flatwater.experiment.device.load import load_device
from flatwater.plan.device import write_device
from flatwater.plan.device.ssd import Ssd
from flatwater.plan.emulation import EmulatedDevice
from flatwater.runner.stack.storage.modelled.emulation import Emulation, find_life_used, lag_warning, plan_of_emulation

CARD = "fusion-io-iodrive-160-slc"


@pytest.fixture
def emulation(tmp_path: Path) -> Emulation:
    use = Use(asynchronous=True, initial="fresh", scale=0.01)
    return Emulation(CARD, load_device(CARD), use, tmp_path / "backing", tmp_path / "mount")


def _begin(emulation: Emulation, state: Any = None) -> EmulatedDevice:
    """What an emulator does with the files when it begins."""
    spec = plan_of_emulation(emulation)
    with emulation.backing.open("wb") as file:
        file.truncate(spec.bytes)
    emulation.sidecar.write_text(json.dumps(spec.owner | {"state": state}))
    return spec


def test_a_fresh_device_learns_from_the_file_what_it_holds(emulation: Emulation) -> None:
    spec = plan_of_emulation(emulation)
    assert spec.replay and spec.used_bytes == 0 and not spec.emptied
    spec = plan_of_emulation(replace(emulation, initial="preconditioned"))
    assert not spec.replay and spec.used_bytes == spec.bytes


def test_a_device_goes_on_as_it_was_left(emulation: Emulation) -> None:
    _begin(replace(emulation, initial="preconditioned"), {"life_used": 0.25})
    spec = plan_of_emulation(emulation)
    assert spec.owner["initial"] == "preconditioned" and not spec.replay
    assert spec.device == write_device(
        emulation.device, replace(emulation.use, initial="preconditioned", life_used=0.25)
    )
    with pytest.raises(UserError, match="was begun as a preconditioned device"):
        plan_of_emulation(replace(emulation, initial="fresh"))
    spec = plan_of_emulation(replace(emulation, overwrite=True))
    assert spec.emptied and spec.owner["initial"] == "fresh"


def test_a_device_keeps_what_was_trimmed(emulation: Emulation) -> None:
    card = replace(emulation, initial="preconditioned", use=replace(emulation.use, occupied=0.75))
    assert plan_of_emulation(card).trimmed == ()
    _begin(card)
    told = json.loads(card.sidecar.read_text()) | {"trimmed": [[0, 4096], [8192, 4096]]}
    card.sidecar.write_text(json.dumps(told))
    spec = plan_of_emulation(card)
    assert spec.trimmed == ((0, 4096), (8192, 4096)) and "trimmed" not in spec.owner
    assert not isinstance(spec.device, Ssd) or spec.device.occupied_bytes == 0, "the sidecar and the file say it"
    assert plan_of_emulation(replace(card, emptied=True)).trimmed == ()
    assert plan_of_emulation(replace(card, emptied_model=True)).trimmed == ((0, spec.bytes),)
    # Content is no figure of the device: its file stays its own, however full it is to be.
    assert card.digest == emulation.digest
    told["trimmed"] = [[-1, 4096]]
    card.sidecar.write_text(json.dumps(told))
    with pytest.raises(UserError, match="is no emulated device's"):
        plan_of_emulation(card)


def test_anothers_file_is_refused(emulation: Emulation) -> None:
    emulation.backing.write_bytes(b"precious")
    with pytest.raises(UserError, match="is no emulated device's"):
        plan_of_emulation(emulation)
    emulation.sidecar.write_text("{}")
    with pytest.raises(UserError, match="is no emulated device's"):
        plan_of_emulation(emulation)
    emulation.backing.unlink()
    emulation.backing.mkdir()
    with pytest.raises(UserError, match="is not a file"):
        plan_of_emulation(replace(emulation, overwrite=True))


def test_another_devices_file_is_refused(emulation: Emulation) -> None:
    _begin(emulation)
    other = load_device(CARD, {"timing.read_us": 99})
    with pytest.raises(UserError, match="with other figures"):
        plan_of_emulation(replace(emulation, device=other))
    spec = plan_of_emulation(replace(emulation, device=other, reset=True))
    assert not spec.emptied
    with pytest.raises(UserError, match="long, and the device"):
        plan_of_emulation(replace(emulation, size_bytes=2**20))


def test_life_is_found_wherever_the_device_tells_it() -> None:
    assert find_life_used(None) == 0.0
    assert find_life_used({"life_used": 0.5, "erases": 7}) == 0.5
    assert find_life_used({"modules": [{"life_used": 0.5}, {"life_used": 1}]}) == 0.75


def test_one_that_could_not_keep_up_is_named() -> None:
    assert lag_warning(4.9, 1000, 10.0) is None
    assert lag_warning(50.0, 0, None) is None
    assert "could not keep up: 5.1 %" in (lag_warning(5.1, 1000, 80.0) or "")
