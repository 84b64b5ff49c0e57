"""What of an emulated device lasts: killed, left mounted, ended, or begun on something that is not its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest


def test_every_acknowledged_write_outlives_a_kill(emulators: Any, direct: Any) -> None:
    device = emulators.memory(latency_us=200)
    process = emulators.start(device)
    acknowledged: dict[int, int] = {}
    file = direct(emulators.device)

    def write() -> None:
        for number in range(1_000_000):
            block, byte = (number * 7919) % 4096, number % 251 + 1
            try:
                file.write(block, byte)
            except OSError:
                return
            acknowledged[block] = byte

    writer = threading.Thread(target=write)
    writer.start()
    while len(acknowledged) < 200:
        assert writer.is_alive()
    process.send_signal(signal.SIGKILL)
    process.wait()
    writer.join()
    file.close()
    held = emulators.backing.read_bytes()
    # Of the write that was under way nothing is promised.
    lost = [block for block, byte in acknowledged.items() if held[block * 4096] != byte]
    assert len(lost) <= 1
    with pytest.raises(OSError):
        os.statvfs(emulators.mount)
    # The dead mount is cleared away, and it goes on with the same data.
    process = emulators.start(device)
    again = direct(emulators.device)
    for block in list(acknowledged)[:50]:
        assert again.read(block) == held[block * 4096 : (block + 1) * 4096]
    again.close()
    said = emulators.stop(process)
    assert "killed emulator" in said


def test_an_ended_device_goes_on_where_it_was(emulators: Any, direct: Any) -> None:
    device = emulators.memory()
    process = emulators.start(device, "--size", "8MiB")
    file = direct(emulators.device)
    file.write(3, 5)
    file.close()
    said = emulators.stop(process)
    assert "1 writes" in said and "behind the model" in said
    sidecar = json.loads(emulators.backing.with_name("backing.flatwater.json").read_text())
    assert sidecar["size_bytes"] == 8 * 2**20
    emulators.start(device, "--size", "8MiB")
    file = direct(emulators.device)
    assert file.read(3) == bytes([5]) * 4096
    file.close()


def test_a_foreign_file_is_not_touched(emulators: Any) -> None:
    emulators.backing.write_text("precious")
    said = emulators.refuse(emulators.memory())
    assert "is no emulated device's" in said and "--overwrite" in said
    assert emulators.backing.read_text() == "precious"
    process = emulators.start(emulators.memory(), "--overwrite")
    assert emulators.device.read_bytes()[:4096] == bytes(4096)
    emulators.stop(process)


def test_another_devices_file_is_refused_unless_it_is_reset(emulators: Any, direct: Any) -> None:
    process = emulators.start(emulators.memory(latency_us=10))
    file = direct(emulators.device)
    file.write(0, 3)
    file.close()
    emulators.stop(process)
    said = emulators.refuse(emulators.memory(latency_us=20))
    assert "--reset" in said
    said = emulators.refuse(emulators.memory(latency_us=10), "--size", "1MiB")
    assert "64 MiB long" in said
    emulators.start(emulators.memory(latency_us=20), "--reset")
    file = direct(emulators.device)
    assert file.read(0) == bytes([3]) * 4096
    file.close()


def test_only_one_emulator_uses_a_file_and_a_mount(emulators: Any) -> None:
    device = emulators.memory()
    emulators.start(device)
    assert "another emulator serves" in emulators.refuse(device, backing=emulators.folder / "other")
    first, emulators_mount = emulators.mount, emulators.folder / "second"
    emulators_mount.mkdir()
    process = subprocess.run(
        [*emulators.running[0].args[:3], "--file", emulators.backing, "--mount", emulators_mount],
        capture_output=True,
        text=True,
    )
    assert process.returncode == 1 and "another emulator uses it" in process.stderr
    assert not os.path.ismount(emulators_mount) and os.path.ismount(first)


def test_a_mount_that_is_not_ours_is_left_alone(emulators: Any, tmpfs: Any) -> None:
    device = emulators.memory()
    place: Path = tmpfs(1)
    command = [emulators.launch(device).args[0], "emulate", device, "--file", emulators.folder / "b"]
    emulators.running[-1].terminate()
    emulators.running[-1].wait()
    refused = subprocess.run([*command, "--mount", place], capture_output=True, text=True)
    assert refused.returncode == 2 and "mount point already" in refused.stderr
    assert os.path.ismount(place)
    (full := emulators.folder / "full").mkdir()
    (full / "file").touch()
    refused = subprocess.run([*command, "--mount", full], capture_output=True, text=True)
    assert refused.returncode == 2 and "is not empty" in refused.stderr


def test_one_that_is_in_use_waits_to_be_let_go(emulators: Any) -> None:
    process = emulators.start(emulators.memory())
    loop = emulators.loop()
    process.terminate()
    line = process.stderr.readline() or process.stderr.readline()
    line = line.strip() or process.stderr.readline()
    assert "is in use" in line and loop in line
    subprocess.run(["losetup", "--detach", loop], check=True)
    process.communicate(timeout=240)
    assert process.returncode == 0
    assert not os.path.ismount(emulators.mount)
