"""A trace again: on files, and on modelled storage, where every figure is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tomli_w
from lab import Lab
from modelledlab import APPLIANCE


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def write_trace(lab: Lab, seconds: int = 2, per_s: int = 200) -> Path:
    """Evenly spaced: three reads, then a write, of 4 KiB; a flush each second."""
    lines = ["fio version 3 iolog", "0 f add", "0 f open"]
    for n in range(seconds * per_s):
        action = "write" if n % 4 == 3 else "read"
        lines.append(f"{n * 1_000_000 // per_s} f {action} {n * 7919 % 2048 * 4096} 4096")
        if n % per_s == per_s - 1:
            lines.append(f"{n * 1_000_000 // per_s} f datasync 0 0")
    path = lab.folder / "t.iolog"
    path.write_text("\n".join(lines) + "\n")
    return path


def write_experiment(lab: Lab, storage: dict[str, Any], **workload: Any) -> Path:
    path = lab.folder / "replay.toml"
    content = {
        "workload": {"kind": "replay", "trace": str(write_trace(lab)), "duration_s": 2, **workload},
        "storage": storage,
        "record": {"interval_s": 0.5},
    }
    path.write_text(tomli_w.dumps(content))
    return path


def modelled(lab: Lab) -> dict[str, Any]:
    device = lab.folder / "appliance.toml"
    device.write_text(APPLIANCE)
    return {"kind": "memory", "device": str(device), "size": "8MiB"}


def test_modelled_at_the_recorded_pace(lab: Lab) -> None:
    ran = lab.run(write_experiment(lab, modelled(lab)), "--json")
    cell = ran.cell
    assert cell["mean"] == pytest.approx(200, rel=0.02)
    # An appliance that does each at once: 100 us and the transfer.
    assert 100 <= cell["latency_by_kind_us"]["read"]["p50"] < 110


def test_modelled_twice_as_fast_from_the_beginning_again(lab: Lab) -> None:
    ran = lab.run(write_experiment(lab, modelled(lab), speed=2.0), "--json")
    assert ran.cell["mean"] == pytest.approx(400, rel=0.02)


def test_modelled_as_fast_as_it_is_served(lab: Lab) -> None:
    ran = lab.run(write_experiment(lab, modelled(lab), speed="asap", queue_depth=4), "--json")
    # Little's law: four under way, about 104 us each.
    assert ran.cell["mean"] == pytest.approx(4 / 104e-6, rel=0.1)


def test_modelled_scaled_to_a_small_device(lab: Lab) -> None:
    storage = modelled(lab) | {"size": "1MiB"}
    ran = lab.run(write_experiment(lab, storage, offsets="scale"), "--json")
    assert ran.cell["mean"] == pytest.approx(200, rel=0.02)


def test_on_files(lab: Lab) -> None:
    storage = {"path": str(lab.folder / "data"), "size": "8MiB"}
    ran = lab.run(write_experiment(lab, storage, queue_depth=32), "--json")
    cell = ran.cell
    assert cell["errors"] == 0 and 300 <= cell["operations"] <= 410


def test_a_trace_that_ends_ends_the_run(lab: Lab) -> None:
    ran = lab.run(write_experiment(lab, modelled(lab), repeat=False, duration_s=60), "--json")
    # Two seconds of requests, all of them once.
    assert ran.code == 0 and ran.cell["operations"] == 400


def test_check_tells_how_long_a_trace_that_ends_takes(lab: Lab) -> None:
    """It is over before what the cell may take, and so is the trial."""
    ran = lab.run(write_experiment(lab, modelled(lab), repeat=False, duration_s=60), "--json", verb="check")
    (told,) = ran.cells
    assert 0 < told["real_s"] < 10 < told["longest_s"]
