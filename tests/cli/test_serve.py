"""`flatwater serve` as a program: what it prints, how it ends, and a run that it shows while it is made."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode

import psutil
import pytest

sys.path.append(str(Path(__file__).parents[1] / "report"))
sys.path.append(str(Path(__file__).parents[1] / "terminal"))
import synthetic
from ptylab import FILEIO, FLATWATER

from flatwater.results import open_result

PATIENCE_S = 120
#: What the tests started.
RUNNING: list[subprocess.Popen[str]] = []


class Served:
    """A server that runs, and its address. `end` ends it; a test that fails before leaves none."""

    def __init__(self, *arguments: str, cwd: Path) -> None:
        self.process = subprocess.Popen(
            [*FLATWATER, "serve", *arguments], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.line = self.process.stdout.readline()
        found = re.search(r"http://(\S+?):(\d+)(/\S*)", self.line)
        assert found is not None, self.process.communicate()
        self.host, self.port, self.path = found[1], int(found[2]), found[3]
        RUNNING.append(self.process)

    def ask(self, path: str, host: str = "127.0.0.1", **headers: str) -> tuple[int, str, dict[str, str]]:
        connection = HTTPConnection(host, self.port, timeout=PATIENCE_S)
        try:
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode(), dict(answer.getheaders())
        finally:
            connection.close()

    def end(self, number: signal.Signals) -> tuple[int, str]:
        self.process.send_signal(number)
        _, stderr = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, stderr


@pytest.fixture(autouse=True)
def none_is_left() -> Iterator[None]:
    yield
    while RUNNING:
        with RUNNING.pop() as process:
            process.kill()


@pytest.fixture
def results(tmp_path: Path) -> Iterator[Path]:
    synthetic.single(tmp_path / "results" / "one", 60)
    yield tmp_path


def refused(*arguments: str, cwd: Path) -> str:
    ran = subprocess.run([*FLATWATER, "serve", *arguments], cwd=cwd, capture_output=True, text=True, timeout=PATIENCE_S)
    assert ran.returncode == 2 and not ran.stdout
    (line,) = ran.stderr.splitlines()
    return line


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_it_ends_at_once_and_leaves_nothing(results: Path, number: signal.Signals) -> None:
    before = sorted(results.rglob("*"))
    served = Served("--port", "0", cwd=results)
    assert served.line.startswith("serving results at http://127.0.0.1:")
    status, text, _ = served.ask("/")
    assert status == 200 and "one" in text
    status, _, _ = served.ask(re.findall(r'href="(/run/\w+)"', text)[0])
    assert status == 200
    assert served.end(number) == (0, "")
    assert sorted(results.rglob("*")) == before
    with socket.socket() as free:
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        free.bind(("127.0.0.1", served.port))


def test_runs_that_it_started_are_interrupted_when_it_ends(tmp_path: Path) -> None:
    # The folder that the first run makes is made here.
    served = Served("--allow-run", "--port", "0", cwd=tmp_path)
    token = re.findall(r"token=(\S+)", served.path)[0]
    assert served.host == "127.0.0.1" and served.ask("/experiments")[0] == 401
    lines = "storage.path=.\nstorage.size=1MiB\nworkload.duration_s=500\nrecord.interval_s=0.1"
    body = urlencode({"lines": f"{lines}\nworkload.queue_depth=1\nworkload.engine=psync"})
    connection = HTTPConnection("127.0.0.1", served.port, timeout=PATIENCE_S)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/x-www-form-urlencoded"}
    connection.request("POST", "/experiments/quick/start", body, headers)
    assert connection.getresponse().read() == b"Only a page of this server may ask for that.\n"
    headers["Origin"] = f"http://127.0.0.1:{served.port}"
    connection.request("POST", "/experiments/quick/start", body, headers)
    answer = connection.getresponse()
    answer.read()
    path = answer.headers["Location"]
    connection.close()
    while served.ask(path, Authorization=f"Bearer {token}")[0] != 303:
        pass
    (folder,) = (tmp_path / "results").iterdir()
    code, stderr = served.end(signal.SIGINT)
    assert code == 0 and open_result(folder).manifest.status == "interrupted"
    first, last = stderr.splitlines()
    assert first.startswith(f"interrupting the run {folder}")
    assert last == f"what it measured is kept; to go on: flatwater resume {folder}"
    assert not [one for one in psutil.process_iter(["cmdline"]) if f"--out={folder}" in (one.info["cmdline"] or ())]


def test_runs_are_started_into_a_folder_of_results(results: Path) -> None:
    line = refused("results/one", "--allow-run", cwd=results)
    assert line.startswith("error: results/one: is a result, and no folder for new ones")
    (results / "elsewhere").mkdir()
    (results / "elsewhere" / "results").write_text("a file of the user's")
    line = refused("--allow-run", cwd=results / "elsewhere")
    assert line.startswith("error: results: cannot be made: File exists")
    assert "no such folder" in refused("nosuch", "--allow-run", cwd=results)


def test_it_ends_while_a_run_is_watched(tmp_path: Path) -> None:
    synthetic.unfinished(tmp_path / "results" / "run")
    served = Served("--port", "0", cwd=tmp_path)
    link = re.findall(r'href="(/run/\w+)/live"', served.ask("/")[1])[0]
    connection = HTTPConnection("127.0.0.1", served.port, timeout=PATIENCE_S)
    connection.request("GET", f"{link}/events")
    answer = connection.getresponse()
    assert answer.readline() == b"event: all\n"
    assert served.end(signal.SIGINT) == (0, "")
    connection.close()
    answer.close()


def test_the_port_is_taken_by_a_process_that_is_named(results: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        line = refused("--port", str(taken.getsockname()[1]), cwd=results)
    name = psutil.Process().name()
    assert f"the port is taken by process {os.getpid()} ({name})" in line and "(hint: another one" in line


def test_what_cannot_be_served(results: Path) -> None:
    assert "resutls: no such folder (hint: did you mean results?)" in refused("resutls", cwd=results)
    (results / "file").write_text("")
    assert "no such folder" in refused("file", cwd=results)
    assert "--host 203.0.113.7: no address of this machine" in refused("--host", "203.0.113.7", cwd=results)
    assert "--host no.such.host.invalid" in refused("--host", "no.such.host.invalid", cwd=results)
    (results / "empty").mkdir()
    assert "results: no such folder" in refused(cwd=results / "empty")


def test_others_need_the_token(results: Path) -> None:
    served = Served("--host", "0.0.0.0", "--port", "0", cwd=results)
    try:
        token = served.path.removeprefix("/?token=")
        assert len(token) >= 32
        assert served.ask("/")[0] == 401
        status, _, headers = served.ask(served.path)
        assert (status, headers["location"]) == (303, "/")
        cookie = headers["set-cookie"].partition(";")[0]
        assert served.ask("/", Cookie=cookie)[0] == 200
        assert served.ask("/", Cookie=cookie, Host="attacker.example")[0] == 403
        assert served.ask("/metrics", Authorization=f"Bearer {token}")[0] == 200
    finally:
        code, stderr = served.end(signal.SIGINT)
    assert code == 0 and stderr.startswith("warning: other machines reach it")
    assert token not in stderr


def test_a_run_under_way_is_shown_second_by_second(results: Path) -> None:
    (results / "load.toml").write_text(FILEIO.format(duration_s=2))
    served = Served("--port", "0", cwd=results)
    command = [*FLATWATER, "run", "load.toml", "--out", "results/live"]
    with subprocess.Popen(command, cwd=results, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
        journal = results / "results/live/cells/0000/journal.jsonl"
        while not (journal.exists() and journal.stat().st_size):
            assert run.poll() is None
        link = ""
        while not link:
            link = next(iter(re.findall(r'href="(/run/\w+)/live"', served.ask("/")[1])), "")
        connection = HTTPConnection("127.0.0.1", served.port, timeout=PATIENCE_S)
        connection.request("GET", f"{link}/events")
        answer = connection.getresponse()
        text = answer.read().decode()  # until the run is over
        connection.close()
    assert run.returncode == 0
    assert f"Process {run.pid} runs it." in text and "The run is over: complete." in text
    # Every interval was sent, the first ones together.
    told = [json.loads(line.removeprefix("data: ")) for line in text.splitlines() if line.startswith("data: ")]
    sent = len(told[0]["lines"]["workload.throughput"]["v"]) if told[0]["lines"] else 0
    for one in told[1:]:
        if "factor" in one and "times" in one:
            whole = bool(one["lines"]) and isinstance(next(iter(one["lines"].values())), dict)
            sent = len(one["lines"]["workload.throughput"]["v"]) if whole else sent + len(one["times"])
    recorded = open_result(results / "results/live").cells[0].series("workload", "throughput")
    assert sent == len(recorded) > 15
    status, page, _ = served.ask(link)
    assert status == 200 and "Over time" in page
    assert served.end(signal.SIGINT) == (0, "")
