from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# the import mode of pytest does not
sys.path.insert(0, str(Path(__file__).parent))
sys.path.append(str(Path(__file__).parents[1] / "report"))
import synthetic
from servelab import Lab, started_run, write_seconds

from flatwater.serve.folders import key_of


@pytest.fixture(scope="session")
def two_results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a cell, a sweep in a folder of its own, and what is no result."""
    folder = tmp_path_factory.mktemp("results")
    synthetic.single(folder / "one", 300)
    synthetic.sweep(folder / "all" / "fill", count=60)
    (folder / "notes").mkdir()
    (folder / "notes" / "secret.txt").write_text("nobody is shown this")
    return folder


@pytest.fixture
def lab_of_a_run(tmp_path: Path) -> Iterator[tuple[Lab, str]]:
    """A server with few connections, and the key of a run under way."""
    result = started_run(tmp_path / "run")
    write_seconds(result, 0, 5)
    with Lab([tmp_path], connections=8) as found:
        yield found, key_of(result.path)


@pytest.fixture
def lab(two_results: Path) -> Iterator[Lab]:
    with Lab([two_results]) as found:
        yield found
