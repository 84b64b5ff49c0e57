"""The private folder of a server, without a server."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from flatwater.errors import FlatwaterError
from flatwater.server.access import FOLDER_NAME, USER, Access
from flatwater.server.flavours import FLAVOURS


def test_its_folder_is_private_and_goes_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    access = Access()
    folder = access.socket.parent
    assert FOLDER_NAME.fullmatch(folder.name)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    access.close()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_was_given_stays_without_the_password(tmp_path: Path) -> None:
    access = Access(tmp_path)
    access.write_init_file(FLAVOURS["mysql"], (8, 0, 30))
    text = access.init_file.read_text()
    assert access.login().password in text and USER in text
    assert text.startswith("SET sql_log_bin = 0;\n")
    assert stat.S_IMODE(access.init_file.stat().st_mode) == 0o600
    access.close()
    assert list(tmp_path.iterdir()) == []


def test_a_plain_path_needs_no_link(tmp_path: Path) -> None:
    assert Access(tmp_path).link_to(Path("/data/one-2.x")) == Path("/data/one-2.x")
    assert list(tmp_path.iterdir()) == []


def test_a_path_with_blanks_gets_a_link_that_goes_again(tmp_path: Path) -> None:
    access = Access(tmp_path)
    data = tmp_path / "a folder"
    link = access.link_to(data)
    assert (link.readlink(), access.link_to(data)) == (data, link)
    access.unlink()
    access.unlink()
    assert not link.is_symlink()


def test_a_folder_for_the_socket_that_cannot_be_made_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> str:
        raise PermissionError

    monkeypatch.setattr("tempfile.mkdtemp", refuse)
    with pytest.raises(FlatwaterError, match="set TMPDIR to a short path"):
        Access()
