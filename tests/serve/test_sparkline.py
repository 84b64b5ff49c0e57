from __future__ import annotations

import re
import shutil
from pathlib import Path
from xml.etree import ElementTree

from flatwater.serve.folders import find_results
from flatwater.serve.listed import read_listed
from flatwater.serve.sparkline import HEIGHT, WIDTH, sparkline


def points(folder: Path) -> list[tuple[float, float]]:
    (place,) = find_results([folder])
    picture = sparkline(read_listed(place))
    ElementTree.fromstring(picture)
    return [(float(x), float(y)) for x, y in re.findall(r"(\d+\.\d) (\d+\.\d)", picture)]


def test_throughput_of_a_cell_with_its_stall(two_results: Path) -> None:
    found = points(two_results / "one")
    assert 50 < len(found) <= 300
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in found)
    # The stall of three seconds among 225 is there: down to zero.
    assert max(y for _, y in found) == HEIGHT - 2


def test_the_means_of_a_sweep(two_results: Path) -> None:
    assert len(points(two_results / "all" / "fill")) == 10


def test_damaged_series_leave_it_empty(two_results: Path, tmp_path: Path) -> None:
    shutil.copytree(two_results / "one", tmp_path / "one")
    (tmp_path / "one" / "series.parquet").write_bytes(b"PAR1")
    assert points(tmp_path / "one") == []
