"""The drives under a real cell: what its summary keeps of them, and that nothing about them fails a run."""

from __future__ import annotations

import json
import os
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from lab import MIB, Lab
from waiting import PATIENCE_S

sys.path.insert(0, str(Path(__file__).parents[1] / "health"))
from recordings import Lab as MachineLab
from recordings import recording

from flatwater.health.around import DriveWatch
from flatwater.runner import cell as cell_module


@pytest.fixture
def on_a_device(lab: Lab) -> None:
    if os.major(lab.folder.stat().st_dev) == 0:
        pytest.skip("these files are on no block device")


def test_a_cell_keeps_what_it_wrote(lab: Lab, on_a_device: None) -> None:
    ran = lab.go({"mode": "rndwr", "block_size": "64KiB", "duration_s": 1}, {"size": 32 * MIB})
    health = ran.cell["health"]
    assert health["operations"] >= ran.cell["operations"] > 0
    assert health["written_bytes_per_operation"] >= 0.98 * 64 * 1024
    written = sum(drive["kernel_written_bytes"] for drive in health["drives"])
    assert written == pytest.approx(health["written_bytes_per_operation"] * health["operations"])
    assert any("each request wrote" in line for line in ran.result.cells[0].summary.health.text)  # type: ignore[union-attr]


def test_files_in_memory_have_no_drives(lab: Lab) -> None:
    place = Path("/dev/shm")
    if not place.is_dir():
        pytest.skip("there is no tmpfs")
    folder = place / f"flatwater-test-{os.getpid()}"
    folder.mkdir()
    try:
        ran = lab.go({"mode": "rndwr", "duration_s": 0.3, "direct": False}, {"path": str(folder), "size": MIB})
        assert ran.cell["health"] is None
    finally:
        for path in sorted(folder.rglob("*"), reverse=True):
            path.unlink() if not path.is_dir() else path.rmdir()
        folder.rmdir()


@pytest.mark.parametrize("output", ["{", "[" * 100_000, '{"device": {"protocol": "NVMe"}}', ""])
def test_a_smartctl_that_prints_nonsense_fails_no_run(
    lab: Lab, on_a_device: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: str
) -> None:
    machine = MachineLab(tmp_path / "machine")
    device = lab.folder.stat().st_dev
    machine.disk("sda", number=f"{os.major(device)}:{os.minor(device)}")
    machine.fake("smartctl", output)
    monkeypatch.setattr(
        cell_module, "DriveWatch", lambda places, _: DriveWatch(places, machine.machine, tmp_path / "h")
    )
    ran = lab.go({"mode": "rndwr", "duration_s": 0.3}, {"size": MIB})
    assert ran.code == 0, ran.stderr
    assert machine.asked("smartctl")
    (drive,) = ran.cell["health"]["drives"]
    assert drive["unseen"] and drive["used_pct"] is None


def test_a_drive_that_can_be_read(lab: Lab, on_a_device: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = MachineLab(tmp_path / "machine")
    device = lab.folder.stat().st_dev
    machine.disk("sda", number=f"{os.major(device)}:{os.minor(device)}")
    machine.fake("smartctl", json.dumps(recording("intel-ssdsc2bb016t4").output))
    monkeypatch.setattr(
        cell_module, "DriveWatch", lambda places, _: DriveWatch(places, machine.machine, tmp_path / "h")
    )
    ran = lab.go({"mode": "rndwr", "duration_s": 0.3}, {"size": MIB})
    (drive,) = ran.cell["health"]["drives"]
    assert (drive["used_pct_before"], drive["used_pct"], drive["host_written_bytes"]) == (85, 85, 0)
    assert drive["life"]["years"] > 0


def test_ctrl_c_does_not_wait_for_a_drive_that_hangs(lab: Lab, on_a_device: None, tmp_path: Path) -> None:
    machine = MachineLab(tmp_path / "machine")
    machine.script("smartctl", "sleep 1000")
    asked = threading.Event()
    said: list[str] = []
    wanted = replace(machine.machine, given_up=asked.is_set)

    def ask() -> None:
        said.append(wanted.ask(str(machine.root / "bin/smartctl")).trouble)

    waiting = threading.Thread(target=ask)
    waiting.start()
    asked.set()
    waiting.join(PATIENCE_S)
    assert said == ["smartctl was not waited for: the run was interrupted"]
