"""What `make demo` does to what an earlier one measured: nothing."""

from __future__ import annotations

import re
import subprocess
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
