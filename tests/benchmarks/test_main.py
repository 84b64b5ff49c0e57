from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PEERS = pytest.mark.skipif(
    not (shutil.which("fio") and shutil.which("sysbench")), reason="fio and sysbench are missing"
)


def bench(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@PEERS
@pytest.mark.parametrize(
    ("only", "row"),
    [
        pytest.param("random write, depth 32", "| io_uring, random write, depth 32 | fio |", marks=pytest.mark.slow),
        pytest.param("random read, 8 threads", "| psync, random read, 8 threads | sysbench |", marks=pytest.mark.slow),
        ("recording, psync, 1 thread", "| 16 KiB random read, psync, 1 thread, from the page cache |"),
        ("report", "| memory |"),
    ],
)
def test_every_kind_of_row_still_runs(tmp_path: Path, only: str, row: str) -> None:
    small = ("--size-mib", "8", "--report-seconds", "100", "--recording-rounds", "1", "--recording-interval-s", "0.1")
    ran = bench("--quick", "--dir", tmp_path, "--only", only, *small)
    if "O_DIRECT" in ran.stderr:
        pytest.skip("this file system has no O_DIRECT")
    assert ran.returncode == 0, ran.stderr
    assert row in ran.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--dir", "nowhere"), "error: --dir: nowhere is no directory (hint: mkdir -p nowhere)\n"),
        (("--only", "tape"), "error: --only: no row has 'tape' in its title (hint: there is: io_uring, random read,"),
    ],
)
def test_bad_arguments_are_one_line(arguments: tuple[str, ...], message: str) -> None:
    ran = bench(*arguments)
    assert ran.returncode == 2
    assert ran.stderr.startswith(message)


#: What benchmarks start themselves.
CHILDREN = {"benchmarks.database.fill", "benchmarks.model.child", "benchmarks.pages.model"}


def programs() -> set[str]:
    """Every module of the benchmarks that can be started."""
    files = [path for path in (ROOT / "benchmarks").rglob("*.py") if '__name__ == "__main__"' in path.read_text()]
    return {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__main__") for path in files}


@pytest.mark.parametrize("module", sorted(programs() - CHILDREN))
def test_each_says_what_it_does_and_does_nothing_else(module: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", module, "--help"]
    ran = subprocess.run(
        command, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("usage: ") and not list(tmp_path.iterdir())
