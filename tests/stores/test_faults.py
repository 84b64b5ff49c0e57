"""What goes wrong with a real S3 server: it is killed and comes back, its disk and ours are full, logins are wrong."""

from __future__ import annotations

import datetime
import io
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from s3lab import Bucket

from flatwater.errors import FlatwaterError, UserError
from flatwater.results import open_result
from flatwater.stores import StoreGone, parse_address
from flatwater.stores.claim import claim_again, claim_new
from flatwater.stores.s3 import S3
from flatwater.stores.store import Mark, Taken
from flatwater.stores.upload import Upload

Put = Callable[..., str]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that is away is given up at the first try."""
    monkeypatch.setattr("flatwater.stores.s3.TRIES", 1)


def killed_at_put(bucket: Bucket, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server is killed before the PUT of this number, of those of files."""
    put: Put = S3.put
    count = 0

    def put_or_die(store: S3, key: str, body: Path | bytes, mark: Mark, etag: str | None) -> str:
        nonlocal count
        count += isinstance(body, Path)
        if count == number:
            bucket.server.kill()
        return put(store, key, body, mark, etag)

    monkeypatch.setattr(S3, "put", put_or_die)


@pytest.mark.parametrize("number", [1, 4, 9, 11])
def test_the_server_is_killed_during_a_run_and_comes_back(
    own_server: Bucket, experiment: Path, monkeypatch: pytest.MonkeyPatch, number: int, impatient: None
) -> None:
    bucket = own_server
    killed_at_put(bucket, number, monkeypatch)
    ended = bucket.call("run", experiment, "--out", bucket.url("x"), "--jobs", "1")
    folder = bucket.folder / "results" / "s3" / "lab" / "x"
    # What was measured is whole, and one line says where, and what uploads it.
    assert open_result(folder).manifest.status == "complete"
    assert ended.code == 1 and "S3 does not answer (Connection refused)" in ended.error
    command = f"flatwater copy results/s3/lab/x {bucket.url('x')}"
    assert "whole in results/s3/lab/x" in ended.error and command in ended.error
    monkeypatch.undo()
    _login(monkeypatch, bucket)
    bucket.server.start()
    # Nobody takes for whole what is not: what is listed is there, or there is no result yet.
    early = bucket.call("export", bucket.url("x"), "--to", "early.json", "--format", "json")
    assert early.code in (0, 2), early.stderr
    assert bucket.call(*command.split()[1:]).code == 0
    assert bucket.call("copy", bucket.url("x"), "back").code == 0
    for file in folder.iterdir():
        assert file.name == "upload.json" or (bucket.folder / "back" / file.name).read_bytes() == file.read_bytes()


def _login(patch: pytest.MonkeyPatch, bucket: Bucket) -> None:
    from s3lab import OWNER

    patch.setenv("AWS_ACCESS_KEY_ID", OWNER[0])
    patch.setenv("AWS_SECRET_ACCESS_KEY", OWNER[1])
    patch.setenv("AWS_ENDPOINT_URL", bucket.server.url)


def test_a_run_tells_once_that_the_store_is_away_and_tries_again_at_its_end(
    own_server: Bucket, experiment: Path, monkeypatch: pytest.MonkeyPatch, impatient: None
) -> None:
    bucket = own_server
    monkeypatch.setattr("flatwater.cli.stores.EVERY_S", 0.0)
    monkeypatch.setattr("flatwater.cli.stores.PART", 0.0)
    sync = Upload.sync
    calls = []

    def away_for_a_while(upload: Upload, **how: Any) -> bool:
        calls.append(how["whole"])
        if len(calls) == 2:
            bucket.server.kill()
        if how["whole"]:
            bucket.server.start()
        return sync(upload, **how)

    monkeypatch.setattr(Upload, "sync", away_for_a_while)
    done = bucket.call("run", experiment, "--out", bucket.url("x"), "--jobs", "1")
    assert done.code == 0, done.stderr
    assert calls == [False, False, True]
    assert done.stderr.count("the run goes on, and results/s3/lab/x has all of it") == 1
    assert "x/series.parquet" in bucket.names()


def test_a_store_that_is_away_is_told_before_anything_is_measured(
    own_server: Bucket, experiment: Path, impatient: None
) -> None:
    own_server.server.kill()
    refused = own_server.call("run", experiment, "--out", own_server.url("x"))
    assert refused.code == 1 and "Connection refused" in refused.error and "AWS_ENDPOINT_URL" in refused.error
    assert not (own_server.folder / "results").exists()


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({"AWS_SECRET_ACCESS_KEY": "wrong-secret"}, "the secret of the access key is wrong"),
        ({"AWS_ACCESS_KEY_ID": "nobody"}, "does not know the access key"),
        ({"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}, "there is no login for S3"),
        ({"AWS_PROFILE": "nowhere"}, "profile (nowhere) could not be found"),
        ({"AWS_ENDPOINT_URL": "no-url"}, "Invalid endpoint"),
    ],
)
def test_a_wrong_login_is_told_before_anything_is_measured(
    bucket: Bucket, experiment: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], told: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    refused = bucket.call("run", experiment, "--out", bucket.url("x"))
    assert refused.code == 2 and told in refused.error and "wrong-secret" not in refused.stderr
    assert not (bucket.folder / "results").exists()


def test_a_bucket_that_is_not_there(bucket: Bucket, experiment: Path) -> None:
    refused = bucket.call("run", experiment, "--out", "s3://nowhere/x")
    assert refused.code == 2 and "no such bucket (nowhere)" in refused.error
    assert bucket.call("ls", "s3://nowhere/x").code == 2


def test_a_clock_that_is_wrong_is_told(bucket: Bucket, experiment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import botocore.auth

    def yesterday(remove_tzinfo: bool = True) -> datetime.datetime:
        now = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=1)
        return now.replace(tzinfo=None) if remove_tzinfo else now

    monkeypatch.setattr(botocore.auth, "get_current_datetime", yesterday)
    refused = bucket.call("run", experiment, "--out", bucket.url("x"))
    assert refused.code == 2 and "clocks of this machine and of the server differ" in refused.error


def test_without_the_library(bucket: Bucket, experiment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "boto3", None)
    refused = bucket.call("run", experiment, "--out", bucket.url("x"))
    assert refused.code == 2 and "pip install 'flatwater[s3]'" in refused.error


def test_of_several_runs_into_one_place_one_gets_it(bucket: Bucket, tmp_path: Path) -> None:
    address = parse_address(bucket.url("x"))
    ready = threading.Barrier(6)
    won: list[str] = []
    lost: list[str] = []

    def claim(number: int) -> None:
        ready.wait()
        try:
            won.append(claim_new(address, tmp_path / f"folder{number}").run)
        except UserError as error:
            lost.append(str(error))

    threads = [threading.Thread(target=claim, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1 and len(lost) == 5
    # The others left nothing here.
    assert len(list(tmp_path.glob("folder*"))) == 1


@pytest.mark.parametrize("etag", [None, '"0123456789abcdef0123456789abcdef"'])
def test_the_server_keeps_to_conditions(bucket: Bucket, tmp_path: Path, etag: str | None) -> None:
    claim = claim_new(parse_address(bucket.url("x")), tmp_path / "x")
    bucket.put("x/theirs", b"theirs")
    with pytest.raises(Taken):
        claim.store.put("x/theirs", b"ours", Mark("0" * 32, "0" * 64), etag)
    assert bucket.get("x/theirs") == b"theirs"


@pytest.mark.parametrize("supported", ["refused", "passed over"])
@pytest.mark.parametrize("etag", [None, '"0123456789abcdef0123456789abcdef"'])
def test_a_server_without_conditions_is_asked_before(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, etag: str | None, supported: str
) -> None:
    from botocore.exceptions import ClientError

    whole = S3._put_whole

    def without(store: S3, key: str, body: Path | bytes, words: dict[str, str], condition: dict[str, str]) -> str:
        if condition and supported == "refused":
            raise ClientError({"Error": {"Code": "NotImplemented"}}, "PutObject")
        return whole(store, key, body, words, {})

    monkeypatch.setattr(S3, "_put_whole", without)
    claim = claim_new(parse_address(bucket.url("x")), tmp_path / "x")
    bucket.put("x/theirs", b"theirs")
    with pytest.raises(Taken):
        claim.store.put("x/theirs", b"ours", Mark("0" * 32, "0" * 64), etag)
    assert bucket.get("x/theirs") == b"theirs"
    assert claim.store.put("x/new", b"ours", Mark("0" * 32, "0" * 64), None)
    with pytest.raises(UserError, match="holds a run already"):
        claim_new(parse_address(bucket.url("x")), tmp_path / "y")


def test_somebody_else_has_put_something_where_a_file_goes(
    bucket: Bucket, result: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload = Upload(claim_new(parse_address(bucket.url("x")), result))
    bucket.put("x/series.parquet", b"theirs")
    with pytest.raises(UserError, match=r"series.parquet is there already, and is not of this run"):
        upload.sync(whole=True)
    assert bucket.get("x/series.parquet") == b"theirs" and "x/flatwater.json" not in bucket.names()


def test_a_large_file_goes_in_parts_and_leaves_none_when_it_fails(
    bucket: Bucket, result: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flatwater.stores.s3.PART_BYTES", 5 << 20)
    large = bytes(range(256)) * (12 << 12)
    (result / "series.parquet").write_bytes(large)
    upload = Upload(claim_new(parse_address(bucket.url("x")), result))
    store: Any = upload._claim.store
    part = store._client.upload_part

    def fail_at_two(**given: Any) -> Any:
        if given["PartNumber"] == 2:
            raise KeyboardInterrupt
        return part(**given)

    monkeypatch.setattr(store._client, "upload_part", fail_at_two)
    with pytest.raises(KeyboardInterrupt):
        upload.sync(whole=True)
    client = bucket.server.client()
    assert not client.list_multipart_uploads(Bucket=bucket.name).get("Uploads")
    assert "x/series.parquet" not in bucket.names()
    monkeypatch.setattr(store._client, "upload_part", part)
    upload.sync(whole=True)
    assert bucket.get("x/series.parquet") == large
    bucket.put("x/histograms.parquet", b"theirs")
    with pytest.raises(Taken):
        store.put("x/histograms.parquet", result / "series.parquet", Mark("0" * 32, "0" * 64), None)
    assert bucket.get("x/histograms.parquet") == b"theirs"


@pytest.mark.parametrize("how", ["shorter", "longer", "changed", "gone"])
def test_an_object_that_is_not_as_it_was_uploaded_is_no_result(bucket: Bucket, result: Path, how: str) -> None:
    assert bucket.call("copy", result, bucket.url("all/x")).code == 0
    assert bucket.call("copy", result, bucket.url("all/y")).code == 0
    body = bucket.get("all/x/series.parquet")
    changed = {"shorter": body[:-1], "longer": body + b"x", "changed": b"x" + body[1:]}
    if how == "gone":
        bucket.server.client().delete_object(Bucket=bucket.name, Key="all/x/series.parquet")
    else:
        bucket.put("all/x/series.parquet", changed[how])
    for arguments in (("report", bucket.url("all/x"), "--out", "x.html"), ("copy", bucket.url("all/x"), "x")):
        refused = bucket.call(*arguments)
        assert refused.code == 2 and "series.parquet is not as it was uploaded" in refused.error
    assert list(bucket.folder.iterdir()) == []
    # Of many, only the damaged one is left out.
    told = bucket.call("query", "select run from runs", "--in", bucket.url("all"), "--csv")
    assert told.code == 0 and told.stdout.splitlines() == ["run", bucket.url("all/y")]
    assert f"left out: {bucket.url('all/x')}: series.parquet" in told.stderr


def test_our_disk_is_full(bucket: Bucket, result: Path, tmpfs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (result / "series.parquet").write_bytes(bytes(3 << 20))
    assert bucket.call("copy", result, bucket.url("x")).code == 0
    small = tmpfs(2)
    refused = bucket.call("copy", bucket.url("x"), small / "back")
    assert refused.code == 1 and "No space left" in refused.error and "make room there" in refused.error
    assert list(small.iterdir()) == []
    monkeypatch.setattr(tempfile, "tempdir", str(small))
    refused = bucket.call("report", bucket.url("x"), "--out", "x.html")
    assert refused.code == 1 and "No space left" in refused.error


def test_the_place_is_given_up_only_where_it_is_ours(bucket: Bucket, tmp_path: Path) -> None:
    address = parse_address(bucket.url("x"))
    mine = claim_new(address, tmp_path / "mine")
    theirs = claim_again(address, tmp_path / "theirs")
    mine.release()
    assert bucket.names() == {"x/uploaded.json"}
    theirs.release()
    assert bucket.names() == set() and not (tmp_path / "mine").exists()


def test_a_store_that_does_not_answer_is_given_up(
    login: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, impatient: None
) -> None:
    """It takes connections, and says nothing."""
    import socket

    monkeypatch.setattr("flatwater.stores.s3.READ_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(StoreGone, match="does not answer") as caught:
            claim_new(parse_address("s3://bucket/x"), tmp_path / "x")
    assert isinstance(caught.value, FlatwaterError) and not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("answers", "missing"),
    [
        ({"head_object": {"ContentLength": 3}}, "ETag"),
        ({"head_object": {"ETag": "x"}}, "ContentLength"),
        ({"get_object": {"Body": io.BytesIO(b"x")}}, "ETag"),
        ({"list_objects_v2": {"Contents": [{"Key": "x"}]}}, "Size"),
    ],
)
def test_a_server_that_answers_as_no_s3_does(answers: dict[str, Any], missing: str) -> None:
    pages = SimpleNamespace(paginate=lambda **_: iter(answers.values()))
    methods = {name: lambda answer=answer, **_: answer for name, answer in answers.items()}
    client = SimpleNamespace(**methods, get_paginator=lambda _: pages)
    store = S3(client, parse_address("s3://lab/x"))
    ask: dict[str, Callable[[], object]] = {
        "head_object": lambda: store.head("x"),
        "get_object": lambda: store.read("x", 10),
        "list_objects_v2": lambda: store.names("x", 10),
    }
    with pytest.raises(StoreGone, match=f"answers without {missing}, and so not as S3 does"):
        ask[next(iter(answers))]()
