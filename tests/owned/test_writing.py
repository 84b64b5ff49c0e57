"""Files are written as a whole, follow no link, and take no name that somebody has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from flatwater.errors import UserError
from flatwater.owned import require_replaceable, write_atomic, write_new


def test_replaces_a_file_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "page"
    for text in ("first", "second"):
        write_atomic(path, text)
        assert path.read_text() == text
    assert list(tmp_path.iterdir()) == [path]


def test_no_link_is_followed(tmp_path: Path) -> None:
    """Neither one in its place, nor one that lies in wait under the name that an unfinished file used to have."""
    mine = tmp_path / "mine"
    mine.write_text("precious")
    for name in ("page", "page.partial", "page.tmp"):
        (tmp_path / name).symlink_to(mine)
    write_atomic(tmp_path / "page", "ours")
    assert mine.read_text() == "precious"
    assert (tmp_path / "page").read_text() == "ours" and not (tmp_path / "page").is_symlink()


def test_what_fails_half_way_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "page"
    path.write_text("old")

    def pieces() -> Iterator[str]:
        yield "half"
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_atomic(path, pieces())
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_a_full_disk_leaves_the_old_one(tmpfs: Callable[[int], Path]) -> None:
    place = tmpfs(1)
    write_atomic(place / "page", "old")
    with pytest.raises(OSError, match="No space left"):
        write_atomic(place / "page", "x" * (2 << 20))
    assert (place / "page").read_text() == "old" and len(list(place.iterdir())) == 1


def test_a_new_file_takes_no_name_that_is_taken(tmp_path: Path) -> None:
    write_new(tmp_path / "new", "ours")
    assert (tmp_path / "new").read_text() == "ours"
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("new", "link"):
        with pytest.raises(FileExistsError):
            write_new(tmp_path / name, "again")
    assert (tmp_path / "new").read_text() == "ours" and not (tmp_path / "nowhere").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "new"]


def test_only_what_flatwater_wrote_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    require_replaceable(path, "flatwater", force=False, where="--out")
    path.write_text("")
    require_replaceable(path, "flatwater", force=False, where="--out")
    path.write_text("<html>flatwater</html>")
    require_replaceable(path, "flatwater", force=False, where="--out")
    path.write_text("<html>my thesis</html>")
    with pytest.raises(UserError, match=r"22 B\) and was not written by flatwater.*--force"):
        require_replaceable(path, "flatwater", force=False, where="--out")
    require_replaceable(path, "flatwater", force=True, where="--out")
    with pytest.raises(UserError, match="is not a file"):
        require_replaceable(tmp_path, "flatwater", force=True, where="--out")
