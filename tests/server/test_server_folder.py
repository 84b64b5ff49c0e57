"""The files of a server, without a server."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from flatwater.errors import FlatwaterError
from flatwater.server import Binary
from flatwater.server.access import Access
from flatwater.server.server_folder import ServerFolder


def test_only_its_user_enters_it(tmp_path: Path) -> None:
    folder = ServerFolder(tmp_path / "one")
    folder.make()
    folder.make()
    assert [stat.S_IMODE(path.stat().st_mode) for path in (folder.data, folder.tmp)] == [0o700, 0o700]


def test_a_file_in_its_place_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FlatwaterError, match=r"storage\.path: cannot make .*: Not a directory"):
        ServerFolder(tmp_path / "file").make()


def test_every_file_of_the_server_lies_in_it(tmp_path: Path, binary: Binary) -> None:
    folder, access = ServerFolder(tmp_path / "one"), Access(tmp_path)
    settings = folder.settings(binary, access)
    paths = {name: value for name, value in settings.items() if value.startswith(str(tmp_path))}
    assert {name for name, value in paths.items() if not value.startswith(f"{folder.path}/")} == {"socket", "init_file"}
    assert {"datadir", "tmpdir", "secure_file_priv", "pid_file", "log_error"} < paths.keys()
    assert settings["skip_networking"] == ""
