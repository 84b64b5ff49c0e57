from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.model.emulated import CASES, DEPTHS, missing

ROOT = Path(__file__).parents[2]


def bench(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks.model", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("only", "row"),
    [
        pytest.param("steady state", "| host page writes a CPU second |"),
        pytest.param("precondition", "| jumped, CPU s |", marks=pytest.mark.slow),
        pytest.param("sweeps", "Two processes over one, 2 cells of ", marks=pytest.mark.slow),
    ],
)
def test_every_kind_of_row_still_runs(tmp_path: Path, only: str, row: str) -> None:
    small = ("--intervals", "2", "--cells", "40", "--scaling-cells", "2")
    ran = bench("--quick", "--dir", tmp_path, "--only", only, *small)
    assert ran.returncode == 0, ran.stderr
    assert row in ran.stdout, ran.stdout
    assert "## Not measured" not in ran.stdout
    assert "| storage |" not in ran.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_emulation_stands_beside_virtual_time(tmp_path: Path) -> None:
    why = missing()
    if why is not None:
        pytest.skip(why)
    ran = bench("--quick", "--dir", tmp_path, "--only", "emulation")
    assert ran.returncode == 0, ran.stderr
    for case in CASES:
        rows = [line for line in ran.stdout.splitlines() if line.startswith(f"| {case.title} |")]
        assert len(rows) == len(DEPTHS), ran.stdout
    assert "; the emulated devices' content |" in ran.stdout
    assert list(tmp_path.iterdir()) == []
    assert str(tmp_path) not in Path("/proc/self/mountinfo").read_text()


def test_a_peer_that_is_missing_is_told_on_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Neither interpreters nor tools are looked for there, nor is MQSim.
    monkeypatch.setenv("PATH", str(tmp_path))
    ran = bench("--quick", "--dir", tmp_path, "--only", "MQSim")
    assert ran.returncode == 0, ran.stderr
    assert "## Not measured\n\n- MQSim: MQSim is not on the PATH" in ran.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--dir", "nowhere"), "error: --dir: nowhere is no directory (hint: mkdir -p nowhere)\n"),
        (("--only", "tape"), "error: --only: no row has 'tape' in its title (hint: there is: steady state; "),
    ],
)
def test_bad_arguments_are_one_line(arguments: tuple[str, ...], message: str) -> None:
    ran = bench(*arguments)
    assert ran.returncode == 2
    assert ran.stderr.startswith(message)
