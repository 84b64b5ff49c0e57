"""`flatwater emulate`: what it refuses before anything is mounted. What it serves is in tests/emulation."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from lab import FLATWATER

DEVICE = """\
kind = "memory"
title = "A box"
capacity = "64MiB"
latency_us = 0
read_mib_per_s = 1000
write_mib_per_s = 1000
[sources]
latency_us = "made up"
"""


@pytest.fixture
def device(tmp_path: Path) -> Path:
    path = tmp_path / "box.toml"
    path.write_text(DEVICE)
    return path


def _refused(tmp_path: Path, device: Path | str, *arguments: str) -> str:
    places = ["--file", tmp_path / "backing", "--mount", tmp_path / "mount"]
    command = [str(part) for part in (FLATWATER, "emulate", device, *places, *arguments)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert ran.returncode in (1, 2), ran
    assert ran.stderr.startswith("error: ") and len(ran.stderr.splitlines()) == 1, ran.stderr
    assert not (tmp_path / "backing").exists() and not (tmp_path / "mount").exists()
    return ran.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--initial", "used"], "is no state of a device"),
        (["--scale", "0"], "is no share of the device"),
        (["--set", "latency_us"], "is not FIELD=VALUE"),
        (["--set", "latency_us=-1"], "latency_us"),
        (["--set", "nothing.such=1"], "nothing"),
        (["--size", "much"], "is not a size"),
        (["--seed", "-1"], "--seed: -1 is no seed"),
        (["--seed", "99999999999999999999"], "is no seed"),
        (["--set", "latency=1"], "--set latency: "),
    ],
)
def test_arguments_that_mean_nothing_are_refused(tmp_path: Path, device: Path, arguments: list[str], said: str) -> None:
    assert said in _refused(tmp_path, device, *arguments)


def test_an_unknown_device_is_refused_with_the_nearest(tmp_path: Path) -> None:
    assert "fusion-io-iodrive-160-slc" in _refused(tmp_path, "fusion-io-iodrive-160-scl")


def test_more_than_the_device_has_is_refused(tmp_path: Path, device: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("without root it is refused for another reason")
    assert "do not fit the 64 MiB" in _refused(tmp_path, device, "--size", "1GiB")
