from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def bench(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks.cache", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("only", "row"),
    [
        pytest.param("engine", "| a read that hits, ns of CPU |"),
        pytest.param("policies", "| s3-fifo |"),
        pytest.param("FUSE", "| hits, random read, depth 32 |", marks=pytest.mark.slow),
        pytest.param("NBD", "| random read from memory, 4 connections, depth 8 |", marks=pytest.mark.slow),
    ],
)
def test_every_part_still_runs(tmp_path: Path, only: str, row: str) -> None:
    ran = bench("--quick", "--dir", tmp_path, "--only", only, "--requests", "50000")
    assert ran.returncode == 0, ran.stderr
    # Built by `make bench`, not by the tests.
    assert row in ran.stdout or "is not built" in ran.stdout or "not installed" in ran.stdout, ran.stdout
    assert list(tmp_path.iterdir()) == []


def test_what_there_is_not_is_named(tmp_path: Path) -> None:
    ran = bench("--quick", "--dir", tmp_path, "--only", "floppy")
    assert ran.returncode == 2 and "engine; policies; FUSE; NBD" in ran.stderr
