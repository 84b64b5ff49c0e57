"""A server is observed into an object store."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab import Lab
from observelab import intervals, seen
from watchedlab import WatchedServer

# the import mode of pytest does not
sys.path.append(str(Path(__file__).parents[1] / "stores"))
from s3lab import OWNER, S3Server

import flatwater


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Server]:
    found = S3Server(tmp_path / "s3")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", OWNER[0])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", OWNER[1])
    monkeypatch.setenv("AWS_ENDPOINT_URL", found.url)
    found.make_bucket("lab")
    yield found
    found.kill()


def test_what_was_seen_is_there(lab: Lab, server: WatchedServer, store: S3Server) -> None:
    out = lab.folder / "results" / "s3" / "lab" / "db1"
    running = lab.start(server.url(), "--for", "10m", "--out", "s3://lab/db1", verb="observe", out=out)
    seen(running, lambda lines: intervals(lines) >= 3)
    ran = running.send(signal.SIGINT)
    assert ran.code == 0 and "uploaded to s3://lab/db1" in ran.stderr + ran.stdout
    there = flatwater.load("s3://lab/db1")
    assert there.status == "complete" and there.series().equals(flatwater.load(out).series())


def test_a_store_that_is_away_keeps_nobody_from_what_was_seen(lab: Lab, server: WatchedServer, store: S3Server) -> None:
    out = lab.folder / "results" / "s3" / "lab" / "db1"
    running = lab.start(server.url(), "--for", "10m", "--out", "s3://lab/db1", verb="observe", out=out)
    seen(running, lambda lines: intervals(lines) >= 3)
    store.kill()
    ran = running.send(signal.SIGINT)
    assert ran.code == 1 and "flatwater copy results/s3/lab/db1 s3://lab/db1" in ran.error
    assert flatwater.load(out).status == "complete"
