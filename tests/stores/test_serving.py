"""`flatwater serve` of a real S3 server: it is killed and comes back, results change, are damaged and hostile."""

from __future__ import annotations

import asyncio
import json
import re
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import repeat
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "serve"))
import synthetic
from memory import Memory
from s3lab import Bucket
from servelab import Lab, wait_for

from flatwater.errors import UserError
from flatwater.serve import stored as module
from flatwater.serve.server import serve
from flatwater.serve.stored import Away, Stored
from flatwater.stores import StoreGone, parse_address, registry
from flatwater.stores.index import Entry, Index
from flatwater.stores.mirror import results_among

HREF = re.compile(r'href="/run/([0-9a-f]{16})')


@contextmanager
def serving(bucket: Bucket, prefix: str = "") -> Iterator[tuple[Lab, Stored]]:
    stored = Stored(parse_address(bucket.url(prefix)))
    try:
        stored.require()
        with Lab([], stored=[stored]) as lab:
            lab.catalogue.start()
            yield lab, stored
    finally:
        stored.close()


def listed(lab: Lab, count: int) -> list[str]:
    """The keys of the results, when so many are listed."""
    wait_for(lambda: len(set(HREF.findall(lab.ask("/").text))) == count)
    return sorted(set(HREF.findall(lab.ask("/").text)))


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """The store is looked through whenever the list is asked for."""
    monkeypatch.setattr(module, "FRESH_S", 0.0)
    monkeypatch.setattr(module, "PART", 0.0)
    monkeypatch.setattr("flatwater.serve.catalogue.FRESH_S", 0.0)
    monkeypatch.setattr("flatwater.stores.s3.TRIES", 1)


def test_results_are_listed_and_opened(bucket: Bucket, result: Path, tmp_path: Path, soon: None) -> None:
    other = synthetic.single(tmp_path / "other", 200)
    assert bucket.call("copy", result, bucket.url("lab/monday")).code == 0
    assert bucket.call("copy", other, bucket.url("lab/deep/er/other")).code == 0
    before = {name: bucket.get(name) for name in bucket.names()}
    with serving(bucket, "lab") as (lab, stored):
        keys = listed(lab, 2)
        text = lab.ask("/").text
        assert "monday" in text and "deep/er/other" in text and str(stored.folder) not in text
        # The list has no series; whoever opens a result has all of it.
        assert not [*stored.folder.rglob("*.parquet")]
        for key in keys:
            answer = lab.ask(f"/run/{key}")
            assert (
                answer.status == 200 and "report-data" in answer.text and "This cell did not finish" not in answer.text
            )
        assert lab.ask(f"/run/{keys[0]}/span?cell=0&from=1&to=20").status == 200
        assert lab.ask(f"/compare?run={keys[0]}&run={keys[1]}").status == 200
        assert lab.ask("/trend").status == lab.ask("/published").status == lab.ask("/metrics").status == 200
    assert not stored.folder.exists()
    # Nothing is written there.
    assert {name: bucket.get(name) for name in bucket.names()} == before


def test_what_changes_there_is_seen(bucket: Bucket, result: Path, tmp_path: Path, soon: None) -> None:
    url = bucket.url("lab/monday")
    assert bucket.call("copy", result, url).code == 0
    with serving(bucket) as (lab, _):
        (key,) = listed(lab, 1)
        assert lab.ask(f"/run/{key}").status == 200
        assert bucket.call("tag", url, "kernel=6.12").code == 0
        wait_for(lambda: "kernel=6.12" in lab.ask("/").text)
        wait_for(lambda: "kernel=6.12" in lab.ask(f"/run/{key}").text)
        assert bucket.call("copy", synthetic.single(tmp_path / "b", 100), bucket.url("lab/b")).code == 0
        listed(lab, 2)
        client = bucket.server.client()
        for name in bucket.names():
            if name.startswith("lab/monday/"):
                client.delete_object(Bucket=bucket.name, Key=name)
        assert key not in listed(lab, 1)
        assert lab.ask(f"/run/{key}").status == 404


def test_one_result_and_one_of_a_run_of_many(bucket: Bucket, experiment: Path, result: Path, soon: None) -> None:
    other = experiment.with_name("other.toml")
    other.write_text(experiment.read_text().replace('"tiny"', '"other"'))
    assert bucket.call("run", experiment, other, "--all", "--out", bucket.url("all"), "--jobs", "1").code == 0
    assert bucket.call("copy", result, bucket.url("one")).code == 0
    for prefix, count in (("one", 1), ("all", 2), ("", 3)):
        with serving(bucket, prefix) as (lab, _):
            for key in listed(lab, count):
                assert lab.ask(f"/run/{key}").status == 200


def test_the_server_goes_away_and_comes_back(own_server: Bucket, result: Path, tmp_path: Path, soon: None) -> None:
    bucket = own_server
    assert bucket.call("copy", result, bucket.url("lab/a")).code == 0
    assert bucket.call("copy", synthetic.single(tmp_path / "b", 100), bucket.url("lab/b")).code == 0
    with serving(bucket, "lab") as (lab, _):
        first, second = listed(lab, 2)
        assert lab.ask(f"/run/{first}").status == 200
        bucket.server.kill()
        wait_for(lambda: "cannot be read: S3 does not answer" in lab.ask("/").text)
        text = lab.ask("/").text
        # What was fetched stays, and the page says of when it is.
        assert "s3://lab/lab" in text and "what is shown is of" in text and len(set(HREF.findall(text))) == 2
        assert lab.ask(f"/run/{first}").status == 200
        gone = lab.ask(f"/run/{second}")
        assert gone.status == 503 and "S3 does not answer" in gone.text
        bucket.server.start()
        wait_for(lambda: lab.ask(f"/run/{second}").status == 200)
        wait_for(lambda: "does not answer" not in lab.ask("/").text)


def test_a_store_that_says_nothing_holds_nobody_up(
    bucket: Bucket, result: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert bucket.call("copy", result, bucket.url("a")).code == 0
    monkeypatch.setattr(module, "WAIT_S", 0.2)
    go_on = threading.Event()
    with serving(bucket) as (lab, stored):
        (key,) = listed(lab, 1)
        fetch = stored._fetch
        monkeypatch.setattr(stored, "_fetch", lambda *given: go_on.wait(60) and fetch(*given))
        waiting = lab.ask(f"/run/{key}")
        assert waiting.status == 503 and "is still being fetched" in waiting.text
        assert lab.ask("/").status == 200
        go_on.set()
        wait_for(lambda: lab.ask(f"/run/{key}").status == 200)


def test_damaged_and_hostile_results_are_left_out(bucket: Bucket, result: Path, tmp_path: Path, soon: None) -> None:
    assert bucket.call("copy", result, bucket.url("lab/good")).code == 0
    assert bucket.call("copy", synthetic.single(tmp_path / "b", 100), bucket.url("lab/bad")).code == 0
    bucket.put("lab/bad/summary.json", b"{}")
    index = json.loads(bucket.get("lab/good/uploaded.json"))
    index["files"]["../../../evil"] = index["files"]["flatwater.json"]
    bucket.put("lab/evil/uploaded.json", json.dumps(index).encode())
    with serving(bucket, "lab") as (lab, stored):
        wait_for(lambda: "2 folders are left out" in lab.ask("/").text)
        listed(lab, 1)
        text = lab.ask("/").text
        assert "s3://" in text and "summary.json is not as it was uploaded" in text
        assert not [one for one in stored.folder.parent.rglob("*evil*") if one.is_file()]


def test_a_run_in_a_store_is_never_under_way(bucket: Bucket, tmp_path: Path, soon: None) -> None:
    from servelab import started_run, write_seconds

    run = started_run(tmp_path / "run")
    write_seconds(run, 0, 5)
    assert bucket.call("copy", run.path, bucket.url("lab/run")).code == 0
    with serving(bucket, "lab") as (lab, _):
        (key,) = listed(lab, 1)
        assert "not over" in lab.ask("/").text and 'class="chip">running' not in lab.ask("/").text
        assert lab.ask(f"/run/{key}/live").headers["location"] == f"/run/{key}"
        assert lab.ask(f"/run/{key}").status == 200 and lab.ask(f"/run/{key}/events").status == 404


def test_few_whole_results_are_kept(
    bucket: Bucket, result: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "WHOLE_BYTES_MAX", 1)
    assert bucket.call("copy", result, bucket.url("a")).code == 0
    assert bucket.call("copy", synthetic.single(tmp_path / "b", 100), bucket.url("b")).code == 0
    with serving(bucket) as (lab, stored):
        for key in listed(lab, 2):
            assert lab.ask(f"/run/{key}").status == 200
        wait_for(lambda: len([*stored.folder.rglob("series.parquet")]) == 1)


def test_many_who_wait_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.STORES, "s3", lambda _: Memory())
    monkeypatch.setattr(module, "WAITING_MAX", 0)
    stored = Stored(parse_address("s3://lab/x"))
    with pytest.raises(Away, match="others wait"):
        asyncio.run(stored.fetch_whole(stored.folder / "a"))
    stored.close()


def looked_through(stored: Stored) -> dict[str, str]:
    """What is left out of a store, and why."""
    try:
        stored._look()
        assert not stored.why
        return dict(stored.left_out)
    finally:
        stored.close()


def test_a_small_file_of_a_gigabyte_is_not_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    memory, entry = Memory(), Entry(size=1 << 30, sha256="0" * 64)
    monkeypatch.setitem(registry.STORES, "s3", lambda _: memory)
    index = Index(run="0" * 32, holder="0" * 32, files={"summary.json": entry, "series.parquet": entry})
    memory.plant("x/listed/uploaded.json", index.model_dump_json().encode())
    for name in ("x/listed/summary.json", "x/unlisted/flatwater.json"):
        memory.plant(name, b"{}")
    monkeypatch.setattr(memory, "names", lambda prefix, most: [(f"{prefix}flatwater.json", 1 << 30)])
    stored = Stored(parse_address("s3://lab/x"))
    memory.calls.clear()
    assert looked_through(stored) == {
        "s3://lab/x/listed": "summary.json has 1,073,741,824 B, which no run writes",
        "s3://lab/x/unlisted": "flatwater.json has 1,073,741,824 B, which no run writes",
    }
    assert "pieces" not in memory.calls


def test_no_more_is_written_than_the_store_has_told(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = Memory()
    monkeypatch.setitem(registry.STORES, "s3", lambda _: memory)
    memory.plant("x/a/flatwater.json", b"{}")
    monkeypatch.setattr(memory, "pieces", lambda key: repeat(b"endless"))
    told = looked_through(Stored(parse_address("s3://lab/x")))
    assert told == {"s3://lab/x/a": "flatwater.json has 2 B, and more than 2 B came"}


def test_ten_thousand_results_are_told_apart_at_once() -> None:
    address = parse_address("s3://lab/x")
    names = [f"run-{number:05}" for number in range(10_000)]
    files = ("flatwater.json", "uploaded.json", "summary.json", "tags.json", "inner/flatwater.json")
    listed = sorted((f"x/{name}/{file}", f"{name}/{file}") for name in names for file in files)
    began_s = time.monotonic()
    assert results_among([key for key, _ in listed], address, {}) == names
    versions = [module._version(listed, address.below(name)) for name in names]
    # It was minutes, with pages that wait for it.
    assert time.monotonic() - began_s < 10
    assert versions[7] == "('run-00007/uploaded.json', [('x/run-00007/tags.json', 'run-00007/tags.json')])"


def test_what_cannot_be_served_is_told_at_once(own_server: Bucket, tmp_path: Path, soon: None) -> None:
    def told(*places: str, allow_run: bool = False) -> str:
        with pytest.raises((UserError, StoreGone)) as caught:
            serve([Path(one) for one in places], "127.0.0.1", 0, lambda served: None, allow_run=allow_run)
        return str(caught.value)

    assert "s3://nosuch" in told("s3://nosuch/x")
    assert "serve results s3://lab/x --allow-run" in told("s3://lab/x", allow_run=True)
    own_server.server.kill()
    assert "S3 does not answer" in told("s3://lab/x")
