"""The room of an emulated card: what was trimmed stays trimmed when it starts again, and what was written does not."""

from __future__ import annotations

import json
import subprocess
import time
from typing import Any

import pytest

#: Long enough for a sample of a slow machine.
PATIENCE_S = 240.0
MIB = 1 << 20
CARD = ("fusion-io-iodrive-160-slc", "--scale", "0.003")


def utilisation(emulators: Any, direct: Any) -> float:
    """Share of its usable pages that the card holds, per cent, of a sample that ended after this call began."""

    def sampled(reading: bool) -> float:
        until = time.monotonic() + PATIENCE_S
        while True:
            series = emulators.stats()["series"]
            if "utilisation_pct" in series and (series["reads_per_s"] > 0) == reading:
                value: float = series["utilisation_pct"]
                return value
            assert time.monotonic() < until
            time.sleep(0.02)

    # After a sample without a read, the one with this read is a later one.
    sampled(reading=False)
    file = direct(emulators.device)
    file.read(0)
    file.close()
    return sampled(reading=True)


def trim(emulators: Any, offset: int, length: int) -> None:
    words = ["fallocate", "--punch-hole", "--offset", str(offset), "--length", str(length), emulators.device]
    subprocess.run(words, check=True)


def kept_ranges(emulators: Any) -> list[list[int]]:
    sidecar = json.loads(emulators.backing.with_name("backing.flatwater.json").read_text())
    ranges: list[list[int]] = sidecar["trimmed"]
    return ranges


@pytest.mark.parametrize("initial", ["preconditioned", pytest.param("filled", marks=pytest.mark.slow)])
def test_a_card_that_is_started_again_has_the_room_that_a_file_system_left(
    emulators: Any, direct: Any, initial: str
) -> None:
    process = emulators.start(*CARD, "--initial", initial)
    full = utilisation(emulators, direct)
    loop = emulators.loop()
    subprocess.run(["mkfs.ext4", "-q", "-F", loop], check=True)
    place = emulators.mount_volume(loop)
    (place / "kept").write_bytes(b"k" * (40 * MIB))
    (place / "gone").write_bytes(b"g" * (40 * MIB))
    subprocess.run(["sync", "--file-system", place], check=True)
    (place / "gone").unlink()
    subprocess.run(["sync", "--file-system", place], check=True)
    subprocess.run(["fstrim", place], check=True)
    subprocess.run(["umount", place], check=True)
    left = utilisation(emulators, direct)
    assert left < full / 2, "mkfs and fstrim made room"
    subprocess.run(["losetup", "--detach", loop], check=True)
    emulators.stop(process)
    emulators.start(*CARD, "--initial", initial)
    assert utilisation(emulators, direct) == pytest.approx(left, abs=0.1)
    place = emulators.mount_volume(emulators.loop())
    assert (place / "kept").read_bytes() == b"k" * (40 * MIB)
    subprocess.run(["umount", place], check=True)


def test_after_a_kill_no_acknowledged_write_counts_as_trimmed(emulators: Any, direct: Any) -> None:
    process = emulators.start(*CARD, "--initial", "preconditioned")
    full = utilisation(emulators, direct)
    trim(emulators, 0, 256 * MIB)
    until = time.monotonic() + PATIENCE_S
    while not kept_ranges(emulators):
        assert time.monotonic() < until, "the sidecar is written now and then"
        time.sleep(0.1)
    # Of what is trimmed and written after that, the sidecar knows nothing.
    trim(emulators, 256 * MIB, 64 * MIB)
    file = direct(emulators.device)
    for block in range(0, 4096, 2):
        file.write(block, block % 251 + 1)
    file.close()
    known = kept_ranges(emulators)
    process.kill()
    process.wait()
    emulators.start(*CARD, "--initial", "preconditioned")
    file = direct(emulators.device)
    for block in range(0, 4096, 64):
        assert file.read(block) == bytes([block % 251 + 1]) * 4096
    file.close()
    size = emulators.stats()["size_bytes"]
    held = size - sum(length for _, length in known) + 2048 * 4096
    assert utilisation(emulators, direct) == pytest.approx(full * held / size, rel=0.01)
