from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from flatwater.errors import UserError
from flatwater.server import find_server

ROOT = Path(__file__).parents[2]
SMALL = ("--rows", "1000", "--connections", "20", "--strip-pairs", "1", "--strip-interval-s", "0.1")


@pytest.fixture
def with_server() -> None:
    try:
        find_server(None)
    except UserError as error:
        pytest.skip(str(error))


def bench(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks.database", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def need(*programs: str) -> None:
    absent = [program for program in programs if shutil.which(program) is None]
    if absent:
        pytest.skip(f"{' and '.join(absent)} missing")


@pytest.mark.usefixtures("with_server")
@pytest.mark.parametrize(
    ("only", "row", "programs"),
    [
        pytest.param(
            "point_select, TCP, busy",
            "| OLTP point_select, queries/s | TCP, busy neighbours | flatwater |",
            ("sysbench",),
            marks=pytest.mark.slow,
        ),
        pytest.param("many connections", "| held | yes |", (), marks=pytest.mark.slow),
        ("strip", "| OLTP read_write |", ()),
        pytest.param("load", "| rows a second |", ("tpcc_load", "tpcc_start"), marks=pytest.mark.slow),
        pytest.param(
            "TPC-C", "| TPC-C, NOTPM | socket | flatwater, pipeline |", ("tpcc_start",), marks=pytest.mark.slow
        ),
        pytest.param("cores apart", "| TPC-C, NOTPM | socket, cores apart |", ("tpcc_start",), marks=pytest.mark.slow),
        pytest.param("system calls", "| OLTP read_write | flatwater |", ("strace",), marks=pytest.mark.slow),
    ],
)
def test_every_kind_of_row_still_runs(tmp_path: Path, only: str, row: str, programs: tuple[str, ...]) -> None:
    need(*programs)
    ran = bench("--quick", "--dir", tmp_path, "--only", only, *SMALL)
    if "O_DIRECT" in ran.stderr:
        pytest.skip("this file system has no O_DIRECT")
    assert ran.returncode == 0, ran.stderr
    assert row in ran.stdout, ran.stdout
    assert "## Not measured" not in ran.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("with_server")
def test_a_peer_that_is_missing_is_told_on_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The tools that a server is made with are there; tpcc-mysql is nobody's package.
    monkeypatch.setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
    if shutil.which("tpcc_load"):
        pytest.skip("tpcc_load is in /usr/bin")
    ran = bench("--quick", "--dir", tmp_path, "--only", "load", *SMALL)
    assert ran.returncode == 0, ran.stderr
    assert "- load: tpcc_load and tpcc_start of tpcc-mysql not on the PATH" in ran.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--dir", "nowhere"), "error: --dir: nowhere is no directory (hint: mkdir -p nowhere)\n"),
        (("--only", "tape"), "error: --only: no row has 'tape' in its title (hint: there is: load; TPC-C, socket;"),
    ],
)
def test_bad_arguments_are_one_line(arguments: tuple[str, ...], message: str) -> None:
    ran = bench(*arguments)
    assert ran.returncode == 2
    assert ran.stderr.startswith(message)
