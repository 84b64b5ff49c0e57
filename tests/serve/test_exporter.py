"""A run that serves its own metrics: who may ask, what it is told, and that nobody who asks harms the run."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path

import psutil
import pytest
from servelab import PATIENCE_S, Answer, started_run, write_seconds

from flatwater.errors import UserError
from flatwater.serve import connections, exporter
from flatwater.serve.alive import runs_under_way
from flatwater.serve.exporter import TOKEN, exporting
from flatwater.serve.metrics import CONTENT_TYPE
from flatwater.serve.writers import Writers


@contextmanager
def exported(folder: Path, written: str = ":0") -> Iterator[tuple[int, str]]:
    """The port, and what the user is told."""
    told: list[str] = []
    with exporting(written, folder, told.append):
        (line,) = told
        yield int(line.partition("/metrics")[0].rpartition(":")[2]), line


def ask(port: int, path: str = "/metrics", method: str = "GET", **headers: str) -> Answer:
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
    finally:
        connection.close()


def test_a_run_from_before_its_result_is_there_to_its_end(tmp_path: Path) -> None:
    with exported(tmp_path / "run") as (port, told):
        assert told == f"metrics at http://127.0.0.1:{port}/metrics"
        answer = ask(port)
        assert (answer.status, answer.headers["content-type"]) == (200, CONTENT_TYPE)
        assert "flatwater_runs 0\n" in answer.text and answer.text.endswith("# EOF\n")
        result = started_run(tmp_path / "run")
        write_seconds(result, 0, 3)
        assert 'flatwater_throughput{run="run",cell="0",unit="MiB/s"} 102.0\n' in ask(port).text
        result.write_manifest("complete")
        assert "flatwater_runs 0\n" in ask(port).text
    assert not any(thread.name == "metrics" for thread in threading.enumerate())
    with pytest.raises(ConnectionRefusedError):
        ask(port)
    with exported(tmp_path / "run", f":{port}") as (again, _):  # the next run may have the port at once
        assert again == port


def test_the_experiments_of_a_run_of_many(tmp_path: Path) -> None:
    for name in ("one", "two", "over"):
        write_seconds(started_run(tmp_path / name), 0, 2)
    started_run(tmp_path / "broken").path.joinpath("flatwater.json").write_text("{")
    started_run(tmp_path / "done").write_manifest("complete")
    assert sorted(place.name for place in runs_under_way([tmp_path], Writers())) == ["one", "over", "two"]
    with exported(tmp_path) as (port, _):
        text = ask(port).text
    assert "flatwater_runs 3\n" in text and 'run="one"' in text and 'run="two"' in text


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "localhost"}, 200),
        ({"Host": "attacker.example"}, 403),
        ({"Origin": "http://attacker.example"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
    ],
)
def test_only_by_the_names_of_this_machine(tmp_path: Path, headers: dict[str, str], status: int) -> None:
    with exported(tmp_path) as (port, _):
        assert ask(port, **headers).status == status
        assert ask(port, method="POST").status == 405
        assert ask(port, method="HEAD").body == b""
        assert ask(port, "/../../etc/passwd").status == ask(port, "/").status == 404


def test_others_need_the_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TOKEN, "a-token-of-sixteen-letters")
    with exported(tmp_path, "0.0.0.0:0") as (port, told):
        assert "a-token" not in told and TOKEN in told and "not encrypted" in told
        assert ask(port).status == 401
        assert ask(port, Authorization="Bearer a-token-of-sixteen-letterz").status == 401
        assert ask(port, Authorization="Bearer a-token-of-sixteen-letters").status == 200
    monkeypatch.delenv(TOKEN)
    with exported(tmp_path, "0.0.0.0:0") as (port, told):
        token = told.rpartition(": ")[2]
        assert len(token) >= 32 and ask(port, Authorization=f"Bearer {token}").status == 200
    monkeypatch.setenv(TOKEN, "short")
    with pytest.raises(UserError, match="is no good token"), exported(tmp_path, "0.0.0.0:0"):
        pass
    with exported(tmp_path) as (port, _):  # this machine needs none, whatever it is
        assert ask(port).status == 200


WRONG = ["", "9100", "host", ":", ":x", ":65536", ":-1", "::1:9100", "[::1]", "a b:1:2", ":\u0661"]


@pytest.mark.parametrize("written", WRONG)
def test_what_is_no_address(tmp_path: Path, written: str) -> None:
    with pytest.raises(UserError) as told, exported(tmp_path, written):
        pass
    assert told.value.where == f"--metrics {written}" and told.value.what == "is no address"
    assert told.value.hint == ":9100 for this machine only, or HOST:9100"


def test_a_port_that_is_taken_and_a_host_of_others(tmp_path: Path) -> None:
    with exported(tmp_path) as (port, _), pytest.raises(UserError) as told, exported(tmp_path, f":{port}"):
        pass
    assert told.value.where == f"--metrics :{port}"
    assert told.value.what.startswith("the port is taken by process ") and psutil.Process().name() in told.value.what
    for written, why in (("203.0.113.7:0", "no address of this machine"), ("no.such.host.invalid:0", "no such host")):
        with pytest.raises(UserError, match=why) as told, exported(tmp_path, written):
            pass
        assert told.value.where == f"--metrics {written}"
    assert not any(thread.name == "metrics" for thread in threading.enumerate())


def test_who_asks_and_does_not_read_harms_nobody(tmp_path: Path) -> None:
    write_seconds(started_run(tmp_path / "run"), 0, 3)
    with exported(tmp_path) as (port, _), ExitStack() as opened:
        for _ in range(5):
            _connected(opened, port).sendall(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 50)
        assert ask(port).status == 200


def test_connections_are_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "SILENT_S", 0.5)
    with exported(tmp_path) as (port, _), ExitStack() as opened:
        for silent in [_connected(opened, port) for _ in range(3 * exporter.CONNECTIONS_MAX)]:
            # Those beyond the limit end at once, the others when they were silent for long.
            with suppress(ConnectionResetError):
                assert silent.recv(1) == b""
        assert ask(port).status == 200


def _connected(opened: ExitStack, port: int) -> socket.socket:
    return opened.enter_context(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S))


def test_nothing_is_served_unless_it_is_asked_for(tmp_path: Path) -> None:
    with exporting(None, tmp_path, lambda line: pytest.fail(line)):
        assert not any(thread.name == "metrics" for thread in threading.enumerate())
