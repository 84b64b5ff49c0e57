"""What targets of the Makefile do not do: delete what was measured, or fetch servers that nobody asked for."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def commands(*arguments: str) -> str:
    """What make would run."""
    return subprocess.run(["make", "-n", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("arguments", [(), ("DEMO_OUT=/srv/thesis",)])
def test_the_demo_deletes_nothing(arguments: tuple[str, ...]) -> None:
    assert not re.search(r"\brm\b", commands("demo", *arguments))


def test_the_demo_has_a_new_folder_each_time() -> None:
    folders = set(re.findall(r"--out ([\w/-]+)", commands("demo")))
    (first,) = (one for one in folders if not one.endswith("-tpcc"))
    assert re.fullmatch(r"demo-result-\d{8}-\d{6}", first) and folders == {first, f"{first}-tpcc"}
    assert "--out /srv/thesis" in commands("demo", "DEMO_OUT=/srv/thesis")


def test_results_outlast_a_cleaning() -> None:
    assert "demo-result" not in commands("clean")


def test_servers_are_fetched_only_where_they_are_asked_for() -> None:
    fetching = "benchmarks.servers get"
    assert fetching in commands("test-servers") and "pytest -m servers" in commands("test-servers")
    for target in ("test", "test-slow", "check", "bench", "setup"):
        assert fetching not in commands(target), target


@pytest.mark.slow
def test_the_matrix_runs_by_its_mark_only() -> None:
    def collected(*marks: str) -> str:
        command = [sys.executable, "-m", "pytest", "--collect-only", "-q", *marks, "tests/servers"]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout

    for marks in ((), ("-m", "not slow")):
        assert "test_matrix" not in collected(*marks)
    assert "test_matrix" in collected("-m", "servers")
