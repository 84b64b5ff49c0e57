"""A file system on a loop device on an emulated device."""

from __future__ import annotations

import filecmp
import os
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest

SEED = 20110


@pytest.mark.parametrize("file_system", ["ext4", "xfs"])
def test_what_is_written_to_files_on_it_is_read_again(emulators: Any, tmp_path: Path, file_system: str) -> None:
    device = emulators.memory(capacity="512MiB", latency_us=100)
    process = emulators.start(device)
    loop = emulators.loop()
    quiet = ["mkfs.ext4", "-q", "-F"] if file_system == "ext4" else ["mkfs.xfs", "-q", "-f"]
    subprocess.run([*quiet, loop], check=True)
    place = emulators.mount_volume(loop)
    content = random.Random(SEED).randbytes(8 * 2**20)
    (tmp_path / "plain").write_bytes(content)
    with (place / "file").open("wb") as file:
        file.write(content)
        os.fsync(file.fileno())
    subprocess.run(["umount", place], check=True)
    # A new mount knows nothing of what was written but what the device gives back.
    emulators.mount_volume(loop)
    assert filecmp.cmp(tmp_path / "plain", place / "file", shallow=False), f"seed {SEED}"
    held = emulators.backing.stat().st_blocks
    (place / "file").unlink()
    subprocess.run(["sync", "--file-system", place], check=True)  # a journal frees blocks when it is written
    subprocess.run(["fstrim", place], check=True)
    assert emulators.backing.stat().st_blocks < held
    assert emulators.stats()["trims"] > 0
    subprocess.run(["umount", place], check=True)
    subprocess.run(["losetup", "--detach", loop], check=True)
    emulators.stop(process)


def test_a_file_system_outlives_a_killed_emulator(emulators: Any) -> None:
    device = emulators.memory(capacity="256MiB")
    process = emulators.start(device)
    loop = emulators.loop()
    subprocess.run(["mkfs.ext4", "-q", "-F", loop], check=True)
    place = emulators.mount_volume(loop)
    with (place / "kept").open("w") as file:
        file.write("acknowledged")
        file.flush()
        os.fsync(file.fileno())
    process.kill()
    process.wait()
    subprocess.run(["umount", "-l", place], check=True)
    subprocess.run(["losetup", "--detach", loop], check=True)
    emulators.start(device)
    place = emulators.mount_volume(emulators.loop())
    assert (place / "kept").read_text() == "acknowledged"
    subprocess.run(["umount", place], check=True)
