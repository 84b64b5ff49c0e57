"""Places where flatwater makes no file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from flatwater.errors import UserError
from flatwater.experiment import make_experiment
from flatwater.owned.mounted import require_no_data_directory
from flatwater.runner.stack.target.opening import open_target
from flatwater.server.root import open_parts, open_root

OPENERS: dict[str, Callable[[Path], object]] = {
    "the data of own servers": open_root,
    "files of fileio": lambda path: open_target(
        make_experiment({"workload": {"kind": "fileio", "mode": "rndrd"}, "storage": {"path": str(path)}})
    ),
    "parts of own servers": lambda path: open_parts(path, "database.storages.array.path"),
}


@pytest.mark.parametrize("opener", OPENERS.values(), ids=OPENERS)
@pytest.mark.parametrize("inner", ["", "shop", "shop/deeper"])
@pytest.mark.parametrize("mark", ["ibdata1", "#innodb_redo", "aria_log_control"])
def test_nothing_is_made_in_the_data_directory_of_a_server(
    opener: Callable[[Path], object], inner: str, mark: str, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    place = data / inner
    place.mkdir(parents=True)
    (data / mark).touch()
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UserError, match="the data directory of a database server"):
        opener(place)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_directory_beside_it_is_taken(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "ibdata1").touch()
    for path in (tmp_path, tmp_path / "other", tmp_path / "not" / "there"):
        require_no_data_directory(path, "storage.path")
