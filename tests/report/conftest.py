"""Results to draw, made once a session."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # the import mode of pytest does not
import synthetic
import synthetic_models

from flatwater.report.charts import WANTED
from flatwater.report.recorded import Recorded, read
from flatwater.results import Result, open_result

ENGINE = importlib.util.find_spec("flatwater._engine") is not None


@pytest.fixture(scope="session")
def single_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthetic.single(tmp_path_factory.mktemp("single") / "result", 1200, histograms=ENGINE)


@pytest.fixture(scope="session")
def sweep_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthetic.sweep(tmp_path_factory.mktemp("sweep") / "result", count=200)


@pytest.fixture(scope="session")
def unfinished_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthetic.unfinished(tmp_path_factory.mktemp("unfinished") / "result")


@pytest.fixture
def single(single_path: Path) -> Result:
    return open_result(single_path)


@pytest.fixture
def sweep(sweep_path: Path) -> Result:
    return open_result(sweep_path)


@pytest.fixture
def recorded(single: Result) -> Recorded:
    """The one cell of `single`, read for drawing."""
    return read(single.cells[0], WANTED, 2000)


@pytest.fixture(scope="session")
def database_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthetic.database_sweep(tmp_path_factory.mktemp("database") / "result", count=300)


@pytest.fixture
def database(database_path: Path) -> Result:
    """TPC-C on a server, by the size of its log."""
    return open_result(database_path)


@pytest.fixture(scope="session")
def crashed_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthetic.crashed(tmp_path_factory.mktemp("crashed") / "result", instances=4)


@pytest.fixture
def crashed(crashed_path: Path) -> Result:
    """Four servers, killed at second 150 and back at 172."""
    return open_result(crashed_path)


@pytest.fixture
def recorded_crash(crashed: Result) -> Recorded:
    return read(crashed.cells[0], WANTED, 2000)


@pytest.fixture(scope="session")
def card_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthetic_models.card(tmp_path_factory.mktemp("card") / "result")


@pytest.fixture(scope="session")
def array_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthetic_models.array(tmp_path_factory.mktemp("array") / "result")


@pytest.fixture(scope="session")
def disk_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthetic_models.disk(tmp_path_factory.mktemp("disk") / "result")


@pytest.fixture
def recorded_card(card_path: Path) -> Recorded:
    """A modelled flash card, through its transition."""
    return read(open_result(card_path).cells[0], WANTED, 2000)


@pytest.fixture
def recorded_array(array_path: Path) -> Recorded:
    """A modelled array of eight members, of which one fails and is rebuilt."""
    return read(open_result(array_path).cells[0], WANTED, 2000)


@pytest.fixture(scope="session")
def cache_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthetic_models.cached(tmp_path_factory.mktemp("cache") / "result")


@pytest.fixture
def recorded_cache(cache_path: Path) -> Recorded:
    """A modelled flash cache in front of a disk, from empty to full."""
    return read(open_result(cache_path).cells[0], WANTED, 2000)


@pytest.fixture
def recorded_disk(disk_path: Path) -> Recorded:
    """A modelled disk."""
    return read(open_result(disk_path).cells[0], WANTED, 2000)
