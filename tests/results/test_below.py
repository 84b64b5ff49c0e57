from __future__ import annotations

import os
from pathlib import Path

import pytest

from flatwater.errors import UserError
from flatwater.results.below import results_below


def make(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "flatwater.json").write_text("{}")
    return folder


def test_results_at_any_place_each_once(tmp_path: Path) -> None:
    made = [make(tmp_path / name) for name in ("a", "all/fill-level", "all/other")]
    make(tmp_path / "a/cells/inner")  # of the result itself
    make(tmp_path / ".hidden")
    make(tmp_path / "1/2/3/4/5")
    (tmp_path / "link").symlink_to(tmp_path / "all")
    found, left_out = results_below([tmp_path, tmp_path / "all/other", made[0]])
    assert (found, left_out) == (made, {})
    assert results_below([made[0]])[0] == [made[0]]


def test_a_path_that_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "nightly").mkdir()
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"no such folder \(hint: did you mean .*nightly\?\)"):
        results_below([tmp_path / "nightli"])
    with pytest.raises(UserError, match="is no folder"):
        results_below([tmp_path / "file"])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may look into every folder")
def test_a_folder_that_may_not_be_looked_into(tmp_path: Path) -> None:
    made = make(tmp_path / "a")
    (tmp_path / "locked").mkdir(mode=0)
    found, left_out = results_below([tmp_path])
    assert found == [made] and left_out == {str(tmp_path / "locked"): "cannot be read: Permission denied"}
