"""Whatever a server answers at whatever packet, it is told in one line, soon, and nothing of it acts on a terminal."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest
from hostile import FAULTS, dripping, hostile
from lab import Lab

from flatwater.errors import FlatwaterError
from flatwater.experiment.database.login import Login, Socket
from flatwater.server import attach, describe

#: Greeting, login, and two results: with their columns, rows and ends.
PACKETS_MAX = 16


def _position_count(folder: Path, *, deprecate_eof: bool) -> int:
    with hostile(folder, deprecate_eof=deprecate_eof) as server:
        found = describe(server.login)
        assert (found.flavour, found.version, found.variables["innodb_page_size"]) == ("mariadb", (10, 11, 6), "16384")
        return server.sent


@pytest.mark.parametrize("deprecate_eof", [True, False], ids=["ok-ends", "eof-ends"])
@pytest.mark.parametrize("name", FAULTS)
def test_every_packet_may_be_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, *, deprecate_eof: bool
) -> None:
    count = _position_count(tmp_path, deprecate_eof=deprecate_eof)
    assert count == (13 if deprecate_eof else 15)
    # A server that waits for more from us, as we do from it, is given up after this.
    monkeypatch.setattr(attach, "ANSWER_S", 0.3)
    refused = 0
    for position in range(count):
        (tmp_path / str(position)).mkdir()
        with hostile(tmp_path / str(position), FAULTS[name], position, deprecate_eof=deprecate_eof) as server:
            try:
                describe(server.login)
            except FlatwaterError as error:
                refused += 1
                text = str(error)
                assert text.startswith("database.url: ") and "(hint: " in text
                assert len(text) < 1000 and "\n" not in text and "secret" not in text
    assert refused


@pytest.mark.parametrize("position", range(13))
def test_the_deadline_is_of_the_whole_answer_not_of_a_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, position: int
) -> None:
    monkeypatch.setattr(attach, "ANSWER_S", 0.3)
    over = threading.Event()
    with hostile(tmp_path, dripping(over), position) as server:
        try:
            with pytest.raises(FlatwaterError, match="timed out"):
                describe(server.login)
        finally:
            over.set()


def test_a_server_that_never_accepts_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attach, "ANSWER_S", 0.3)
    path = tmp_path / "full.sock"
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as waiting:
        listener.bind(str(path))
        listener.listen(0)
        waiting.connect(str(path))
        login = Login(Socket(str(path)), "u", "", None)
        with pytest.raises(FlatwaterError, match=r"database\.url: cannot connect to .*full\.sock.*timed out"):
            describe(login)


@pytest.mark.parametrize("position", [0, 1, 2, 7])
def test_a_servers_words_do_not_act_on_the_terminal(lab: Lab, position: int) -> None:
    with hostile(lab.folder, FAULTS["error"], position) as server:
        file = lab.folder / "attached.toml"
        file.write_text(
            '[workload]\nkind = "oltp"\nmode = "read_write"\nduration_s = 1\n'
            f'[database]\nkind = "server"\nurl = "mysql://u:p@{server.path}?schema=x"\n'
        )
        ran = lab.run(file)
    assert ran.code in (1, 2) and "1234" in ran.error
    for sign in "\x1b\x07\x9b\r\u202e":
        assert sign not in ran.stdout + ran.stderr
    assert "\\u001b[31mred" in ran.error
