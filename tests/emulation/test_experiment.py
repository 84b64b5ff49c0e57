"""`storage.real_time = true`: an experiment on a modelled device that is served as a file."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from lab import Lab

from flatwater.errors import UserError
from flatwater.results import Cell, open_result
from flatwater.server import find_server

#: For all to be undone on a slow machine.
PATIENCE_S = 240.0

FILEIO = {"kind": "fileio", "mode": "rndrw", "block_size": "16KiB", "threads": 4, "files": 1, "duration_s": 1.5}


def _write(lab: Lab, device: Path | str, workload: dict[str, Any], **storage: Any) -> Path:
    place = lab.folder / "place"
    place.mkdir(exist_ok=True)
    told = {"kind": "memory", "device": str(device), "real_time": True, "path": str(place)} | storage
    content: dict[str, Any] = {"workload": workload, "storage": told, "record": {"interval_s": 0.25}}
    if workload["kind"] != "fileio":
        settings = {"innodb_buffer_pool_size": "64M", "innodb_log_file_size": "32M"}
        content["database"] = {"kind": "server", "settings": settings}
    file = lab.folder / "emulated.toml"
    file.write_text(tomli_w.dumps(content))
    return file


def _nothing_is_left(place: Path) -> bool:
    mounts = Path("/proc/self/mountinfo").read_text()
    loops = subprocess.run(["losetup", "--list", "--output", "BACK-FILE"], capture_output=True, text=True).stdout
    return str(place) not in mounts and str(place) not in loops


def _until(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.1)


def test_fileio_is_measured_on_the_served_file(lab: Lab, emulators: Any) -> None:
    latency_us = 5000
    file = _write(lab, emulators.memory(latency_us=latency_us), FILEIO, size="16MiB")
    ran = lab.run(file, "--json")
    ran.check()
    cell = json.loads(ran.stdout)
    assert cell["status"] == "complete"
    assert cell["layers"]["storage"] == "modelled" and "in real time" in cell["layers"]["device"]
    assert cell["layers"]["workload"] == "real"
    # Never early: the histogram has three digits.
    assert cell["latency_us"]["p50"] >= 0.999 * latency_us
    assert {"storage.lag_p95_us", "storage.lag_late_pct", "storage.queue_depth"} <= set(cell["metrics"])
    assert _nothing_is_left(lab.folder / "place")


def test_a_file_system_is_made_on_it_when_asked_for(lab: Lab, emulators: Any) -> None:
    device = emulators.memory(capacity="128MiB")
    workload = FILEIO | {"files": 4}
    file = _write(lab, device, workload, size="16MiB", keep=False)
    ran = lab.run(file, "--json")
    assert ran.code == 2 and "storage.file_system" in ran.stderr
    file = _write(lab, device, workload, size="16MiB", file_system="ext4", keep=False)
    ran = lab.run(file, "--json")
    ran.check()
    assert json.loads(ran.stdout)["status"] == "complete"
    assert "ext4 on it" in json.loads(ran.stdout)["layers"]["device"]
    assert _nothing_is_left(lab.folder / "place")
    assert not any((lab.folder / "place").iterdir())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_everything_is_undone_however_the_run_ends(lab: Lab, emulators: Any, number: signal.Signals) -> None:
    workload = FILEIO | {"duration_s": 600}
    file = _write(lab, emulators.memory(capacity="128MiB"), workload, size="16MiB", file_system="ext4")
    running = lab.start(file, "--json")
    mounted = lab.folder / "place/flatwater-emulated/volume"
    running.until(lambda: os.path.ismount(mounted))
    assert running.send(number).code == (130 if number == signal.SIGINT else -number)
    _until(lambda: _nothing_is_left(lab.folder / "place"))


def test_what_is_in_its_place_and_is_not_ours_stays(lab: Lab, emulators: Any) -> None:
    file = _write(lab, emulators.memory(), FILEIO, size="16MiB")
    folder = lab.folder / "place/flatwater-emulated"
    folder.mkdir()
    (folder / "content").write_text("precious")
    ran = lab.run(file, "--json")
    assert ran.code == 2 and "was not made by flatwater" in ran.stderr
    assert (folder / "content").read_text() == "precious"
    assert str(folder) not in Path("/proc/self/mountinfo").read_text(), "nothing is mounted there"


@pytest.mark.slow
@pytest.mark.parametrize("file_system", ["ext4", "xfs"])
def test_a_server_runs_on_a_modelled_card(lab: Lab, emulators: Any, file_system: str) -> None:
    try:
        find_server()
    except UserError as error:
        pytest.skip(str(error))
    workload = {"kind": "oltp", "mode": "read_write", "rows": 1000, "connections": 4, "duration_s": 3}
    card = {"kind": "ssd", "capacity_scale": 0.01, "file_system": file_system}
    file = _write(lab, "fusion-io-iodrive-160-slc", workload, **card)
    ran = lab.run(file, "--json")
    ran.check()
    cell = json.loads(ran.stdout)
    assert cell["status"] == "complete" and cell["mean"] > 0
    assert f"{file_system} on it" in cell["layers"]["device"]
    assert cell["metrics"]["storage.flushes_per_s"]["mean"] > 0
    assert "storage.write_amplification" in cell["metrics"]
    assert _nothing_is_left(lab.folder / "place")
    assert open_result(ran.out).cells


def _amplified(cell: Cell) -> float:
    """What the card wrote of what it was asked to write, in all intervals but the first: there it may still move what
    came before the cell. One interval says little, because a server may write a few pages only in it.
    """
    asked, moved = (cell.series("storage", f"{name}_bytes_per_s").value[1:] for name in ("host_written", "relocated"))
    return 1 + float(moved.sum() / asked.sum())


@pytest.mark.slow
def test_each_cell_of_a_sweep_begins_with_the_same_card(lab: Lab, emulators: Any) -> None:
    try:
        find_server()
    except UserError as error:
        pytest.skip(str(error))
    workload = {"kind": "oltp", "mode": "read_write", "rows": 1000, "connections": 4, "duration_s": 3}
    card = {"kind": "ssd", "capacity_scale": 0.01, "file_system": "ext4"}
    file = _write(lab, "fusion-io-iodrive-160-slc", workload, **card)
    file.write_text(f'repeat = 2\n{file.read_text()}\n[sweep]\n"storage.occupied_pct" = [75, 100, 50]\n')
    ran = lab.run(file)
    ran.check()
    cells = open_result(ran.out).cells
    assert [cell.summary.status for cell in cells if cell.summary is not None] == ["complete"] * 6
    begins = [float(cell.series("storage", "utilisation_pct").value[0]) for cell in cells]
    first, second = begins[:3], begins[3:]
    assert first == pytest.approx(second, rel=0.01), "the cell that made the file system begins like those after it"
    of_full = [one / first[1] for one in first]
    assert of_full == pytest.approx([0.75, 1.0, 0.5], abs=0.02)
    amplified = [_amplified(cell) for cell in cells]
    assert amplified[:3] == pytest.approx(amplified[3:], rel=0.1)
    assert amplified[1] > amplified[0] > amplified[2] - 0.1, "the fuller a card, the more it moves"
