"""Paths of open files that were renamed, replaced or linked to."""

from __future__ import annotations

from pathlib import Path

from flatwater.cache.open_places import leads_to, path_to_open


def test_a_path_leads_to_its_file_until_that_is_renamed_or_replaced(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with file.open("rb") as handle:
        descriptor = handle.fileno()
        assert leads_to(str(file), descriptor)
        assert path_to_open(str(file), descriptor) == str(file) == path_to_open(str(file), None)
        (tmp_path / "link").symlink_to(file)
        assert leads_to(str(tmp_path / "link"), descriptor)
        file.rename(tmp_path / "other")
        assert not leads_to(str(file), descriptor) and leads_to(str(tmp_path / "other"), descriptor)
        file.touch()
        assert not leads_to(str(file), descriptor)
        assert path_to_open(str(file), descriptor) == f"/proc/self/fd/{descriptor}"
