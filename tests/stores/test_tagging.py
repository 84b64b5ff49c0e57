"""Tags of results in a store: changed there, at once or not at all, whoever else is at work."""

from __future__ import annotations

import json
import threading
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from memory import Memory
from s3lab import READER, Bucket

from flatwater.errors import FlatwaterError, UserError
from flatwater.results.tags import Tags, read_tags
from flatwater.stores import StoreGone, local_copy, parse_address, registry
from flatwater.stores.claim import claim_new
from flatwater.stores.store import Mark
from flatwater.stores.tagging import change_tags_at, tags_at
from flatwater.stores.upload import Upload

URL = "s3://lab/x"


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Memory:
    store = Memory()
    monkeypatch.setitem(registry.STORES, "s3", lambda _: store)
    return store


def uploaded(folder: Path, url: str = URL) -> Upload:
    upload = Upload(claim_new(parse_address(url, to_write=True), folder))
    upload.sync(whole=True)
    return upload


def index_of(memory: Memory) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(memory.objects["x/uploaded.json"][0])
    return found


def is_listed_right(memory: Memory) -> bool:
    entry = index_of(memory)["files"]["tags.json"]
    body = memory.objects["x/tags.json"][0]
    return bool(entry["sha256"] == sha256(body).hexdigest() and entry["size"] == len(body))


def test_tags_come_and_go_in_a_real_store(bucket: Bucket, result: Path) -> None:
    url = bucket.url("results/monday")
    assert bucket.call("copy", result, url).code == 0
    before = {name: bucket.get(name) for name in bucket.names()}
    assert bucket.call("tag", url).stdout == ""
    done = bucket.call("tag", url, "kernel=6.12", "owner=ann", "--note", "new firmware")
    assert done.code == 0 and done.stdout == "kernel=6.12\nowner=ann\nnote: new firmware\n" and not done.stderr
    assert bucket.call("tag", url, "--remove", "owner", "kernel=6.13").stdout == "kernel=6.13\nnote: new firmware\n"
    assert bucket.call("tag", url).stdout == "kernel=6.13\nnote: new firmware\n"
    listed = json.loads(bucket.call("ls", bucket.url("results"), "--tag", "kernel=6.13", "--json").stdout)
    assert [one["run"] for one in listed] == [url]
    # What was measured is not touched.
    after = {name: bucket.get(name) for name in bucket.names()}
    changed = {"results/monday/uploaded.json", "results/monday/tags.json"}
    assert after.keys() - before.keys() == {"results/monday/tags.json"}
    assert {name: after[name] for name in before.keys() - changed} == {
        name: body for name, body in before.items() if name not in changed
    }
    assert bucket.call("copy", url, "back").code == 0
    assert read_tags(bucket.folder / "back").tags == {"kernel": "6.13"}
    missing = bucket.call("tag", url, "--remove", "owner")
    assert missing.code == 2 and "there is no tag 'owner'" in missing.error


def test_all_who_tag_at_once_do(bucket: Bucket, result: Path) -> None:
    url = bucket.url("x")
    assert bucket.call("copy", result, url).code == 0
    failed: list[FlatwaterError] = []

    def tag(number: int) -> None:
        try:
            change_tags_at(url, {f"writer{number}": "x"})
        except FlatwaterError as error:
            failed.append(error)

    threads = [threading.Thread(target=tag, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed and tags_at(url).tags.keys() == {f"writer{number}" for number in range(4)}


def test_another_change_in_between_is_not_overwritten(
    memory: Memory, result: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uploaded(result)
    put, others = memory.put, [{"b": "1"}, {"c": "1"}]

    def put_after_another(key: str, body: Path | bytes, mark: Mark, etag: str | None) -> str:
        if key.endswith("tags.json") and others:
            other = others.pop()
            change_tags_at(URL, other)
        return put(key, body, mark, etag)

    monkeypatch.setattr(memory, "put", put_after_another)
    assert change_tags_at(URL, {"a": "1"}).tags.keys() == {"a", "b", "c"}
    assert tags_at(URL).tags.keys() == {"a", "b", "c"} and is_listed_right(memory)


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("number", [1, 2])
def test_a_kill_between_two_writes_leaves_the_tags_before_or_after(
    memory: Memory, result: Path, monkeypatch: pytest.MonkeyPatch, number: int, first: bool
) -> None:
    uploaded(result)
    if not first:
        change_tags_at(URL, {"old": "1"})
    before = tags_at(URL)
    put, count = memory.put, 0

    def put_or_die(key: str, body: Path | bytes, mark: Mark, etag: str | None) -> str:
        nonlocal count
        count += 1
        if count == number:
            raise StoreGone("S3 does not answer")
        return put(key, body, mark, etag)

    monkeypatch.setattr(memory, "put", put_or_die)
    with pytest.raises(StoreGone):
        change_tags_at(URL, {"new": "1"})
    monkeypatch.undo()
    monkeypatch.setitem(registry.STORES, "s3", lambda _: memory)
    # Whoever reads the whole result now is not told of damage.
    found = read_tags(local_copy(URL).folder)
    assert found in (before, Tags(tags=before.tags | {"new": "1"}))
    assert change_tags_at(URL, {"last": "1"}).tags.keys() >= {*before.tags, "last"}
    assert is_listed_right(memory)


def test_a_run_that_uploads_goes_on(memory: Memory, result: Path) -> None:
    upload = uploaded(result)
    change_tags_at(URL, {"during": "1"})
    (result / "tags-of-another-kind.txt").write_text("x")
    assert upload.sync(whole=True)
    assert tags_at(URL).tags == {"during": "1"} and is_listed_right(memory)
    assert "tags-of-another-kind.txt" in index_of(memory)["files"]


def test_a_run_that_lists_just_then_goes_on(memory: Memory, result: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    upload = uploaded(result)
    (result / "more.txt").write_text("x")
    put, others = memory.put, [{"during": "1"}]

    def put_after_another(key: str, body: Path | bytes, mark: Mark, etag: str | None) -> str:
        if key.endswith("uploaded.json") and others:
            change_tags_at(URL, others.pop())
        return put(key, body, mark, etag)

    monkeypatch.setattr(memory, "put", put_after_another)
    assert upload.sync(whole=True)
    assert tags_at(URL).tags == {"during": "1"} and {"more.txt", "tags.json"} <= index_of(memory)["files"].keys()


def test_one_of_a_run_of_many(bucket: Bucket, experiment: Path) -> None:
    other = experiment.with_name("other.toml")
    other.write_text(experiment.read_text().replace('"tiny"', '"other"'))
    done = bucket.call("run", experiment, other, "--all", "--out", bucket.url("all"), "--jobs", "1")
    assert done.code == 0, done.stderr
    assert bucket.call("tag", bucket.url("all/tiny"), "a=1").code == 0
    assert {name for name in bucket.names() if "tags" in name} == {"all/tiny/tags.json"}
    listed = json.loads(bucket.call("ls", bucket.url("all"), "--tag", "a=1", "--json").stdout)
    assert [one["run"] for one in listed] == [bucket.url("all/tiny")]
    none = bucket.call("tag", bucket.url("all"), "a=1")
    assert none.code == 2, none.stdout


@pytest.mark.parametrize("mark", [None, Mark("0" * 32, "0" * 64)])
def test_tags_that_are_not_of_the_run_are_not_overwritten(memory: Memory, result: Path, mark: Mark | None) -> None:
    uploaded(result)
    memory.objects["x/tags.json"] = b'{"tags": {}}', "e", mark
    with pytest.raises(UserError, match="nothing was overwritten"):
        change_tags_at(URL, {"a": "1"})
    assert memory.objects["x/tags.json"][0] == b'{"tags": {}}'


def test_what_another_tool_changed_in_tags_is_told(memory: Memory, result: Path) -> None:
    uploaded(result)
    change_tags_at(URL, {"a": "1"})
    body, etag, mark = memory.objects["x/tags.json"]
    memory.objects["x/tags.json"] = body.replace(b"1", b"2"), etag, mark
    with pytest.raises(UserError, match=r"tags\.json is not as it was uploaded"):
        tags_at(URL)


def test_what_another_tool_copied_is_not_changed(memory: Memory, result: Path) -> None:
    for file in result.iterdir():
        if file.is_file():
            memory.plant(f"x/{file.name}", file.read_bytes())
    with pytest.raises(UserError, match="another tool copied it there"):
        change_tags_at(URL, {"a": "1"})
    assert "x/tags.json" not in memory.objects and tags_at(URL) == Tags()


def test_what_cannot_be_tagged_is_told_in_one_line(
    bucket: Bucket, result: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert bucket.call("copy", result, bucket.url("x/y")).code == 0
    assert "1 are below it" in bucket.call("tag", bucket.url("x"), "a=1").error
    assert "there is no result" in bucket.call("tag", bucket.url("none"), "a=1").error
    assert "is no tag" in bucket.call("tag", bucket.url("x/y"), "a").error
    bucket.server.allow_reading(bucket.name)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", READER[0])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", READER[1])
    refused = bucket.call("tag", bucket.url("x/y"), "a=1")
    assert refused.code == 2 and "x/y" in refused.error
    assert bucket.call("tag", bucket.url("x/y")).code == 0


def test_a_folder_with_other_tags_is_named(bucket: Bucket, experiment: Path) -> None:
    url = bucket.url("x")
    assert bucket.call("run", experiment, "--out", url, "--jobs", "1").code == 0
    assert bucket.call("tag", url, "a=1").stderr == ""
    folder = f"results/s3/{bucket.name}/x"
    assert bucket.call("tag", folder, "b=2").code == 0
    told = bucket.call("tag", url, "c=3")
    assert told.code == 0 and f"note: {folder} was uploaded there and has other tags" in told.stderr


def test_a_store_that_is_away_is_told(own_server: Bucket, result: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flatwater.stores.s3.TRIES", 1)
    assert own_server.call("copy", result, own_server.url("x")).code == 0
    own_server.server.kill()
    gone = own_server.call("tag", own_server.url("x"), "a=1")
    assert gone.code == 1 and "S3 does not answer" in gone.error
