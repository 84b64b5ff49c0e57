"""`flatwater run --metrics` as a program: it is asked while it runs, and its end is the end of the answers."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "terminal"))
from ptylab import FILEIO, FLATWATER, PATIENCE_S

MODELLED = """\
name = "small"
[workload]
kind = "fileio"
mode = "rndrd"
duration_s = {duration_s}
[storage]
kind = "ssd"
device = "intel-x25-e"
size = "16MiB"
"""


@contextmanager
def running(folder: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], int, list[str]]]:
    """A run, its port, and the lines of standard error before it told that."""
    process = subprocess.Popen(
        [*FLATWATER, *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    with process:
        lines: list[str] = []
        try:
            while not (lines and (found := re.search(r"metrics at http://127\.0\.0\.1:(\d+)/metrics$", lines[-1]))):
                line = process.stderr.readline()
                assert line, lines
                lines.append(line.rstrip())
            yield process, int(found[1]), lines
        finally:
            process.kill()


def metrics(port: int) -> str:
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    try:
        connection.request("GET", "/metrics")
        return connection.getresponse().read().decode()
    finally:
        connection.close()


def until_measured(port: int) -> str:
    while "flatwater_latency_seconds_count{" not in (text := metrics(port)):
        pass
    return text


def test_a_run_is_asked_and_ends_with_its_port(tmp_path: Path) -> None:
    (tmp_path / "load.toml").write_text(FILEIO.format(duration_s=600))
    arguments = ["run", "load.toml", "--out", "out", "--json", "--metrics", ":0"]
    with running(tmp_path, *arguments) as (process, port, _):
        text = until_measured(port)
        assert 'flatwater_throughput{run="out",cell="0",unit="IOPS"}' in text
        assert 'flatwater_latency_seconds_bucket{run="out",cell="0",unit="IOPS",le="+Inf"}' in text
        # A scraper that holds a connection and reads nothing does not keep the run from ending.
        silent = socket.create_connection(("127.0.0.1", port))
        silent.sendall(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=PATIENCE_S)
        silent.close()
    assert process.returncode == 130 and json.loads(stdout)["status"] == "interrupted"
    assert "flatwater resume" in stderr and "--json --metrics :0" in stderr
    with pytest.raises(ConnectionRefusedError):
        metrics(port)
    with running(tmp_path, "resume", "out", "--metrics", ":0") as (_, port, _):
        assert 'run="out"' in until_measured(port)


def test_many_runs_at_once(tmp_path: Path) -> None:
    (tmp_path / "both").mkdir()
    for name in ("one", "two"):
        (tmp_path / "both" / f"{name}.toml").write_text(MODELLED.format(duration_s=100_000))
    arguments = ["run", "both", "--all", "--out", "out", "--jobs", "2", "--metrics", ":0"]
    with running(tmp_path, *arguments) as (process, port, _):
        while 'run="one"' not in (text := until_measured(port)) or 'run="two"' not in text:
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130


def test_a_port_that_is_taken_is_told_before_anything_is_made(tmp_path: Path) -> None:
    (tmp_path / "load.toml").write_text(FILEIO.format(duration_s=1))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f":{taken.getsockname()[1]}"
        ran = subprocess.run(
            [*FLATWATER, "run", "load.toml", "--out", "out", "--metrics", address],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
    assert ran.returncode == 2 and not ran.stdout
    assert f"error: --metrics {address}: the port is taken by process " in ran.stderr.splitlines()[-1]
    assert not (tmp_path / "out").exists() and not (tmp_path / "flatwater.dat").exists()
