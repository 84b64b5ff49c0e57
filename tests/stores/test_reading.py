"""Reading results of a store: every verb that reads one, and stores whose names and lists are hostile."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
import synthetic
from memory import Memory
from s3lab import Bucket, Called

import flatwater
from flatwater.errors import UserError
from flatwater.results import open_result
from flatwater.stores import is_small, local_copy, parse_address, registry
from flatwater.stores.claim import claim_again, claim_new
from flatwater.stores.fetch import fetch_new
from flatwater.stores.index import FORMAT, Entry, Index, read_index, word
from flatwater.stores.upload import Upload


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Memory:
    """A store in memory in the place of S3."""
    found = Memory()
    monkeypatch.setitem(registry.STORES, "s3", lambda address: found)
    return found


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthetic.database_sweep(tmp_path_factory.mktemp("database") / "run")


def upload(folder: Path, url: str) -> Upload:
    made = Upload(claim_new(parse_address(url), folder))
    assert made.sync(whole=True)
    return made


def files_of(result: Path) -> list[Path]:
    return [file for file in result.iterdir() if file.is_file() and file.name != "upload.json"]


class Killed(BaseException):
    """Stands for a kill."""


def same_told(bucket: Bucket, arguments: tuple[str, ...], url: str, folder: Path) -> tuple[Called, Called]:
    """What is told of a result of a store, and of the folder that it came from."""
    there = bucket.call(*(one.replace("RUN", url) for one in arguments))
    here = bucket.call(*(one.replace("RUN", str(folder)) for one in arguments))
    assert there.code == here.code == 0, (there.stderr, here.stderr)
    return there, here


@pytest.mark.parametrize(
    "arguments",
    [
        ("compare", "RUN", "RUN", "--json"),
        ("ls", "RUN", "--json"),
        ("query", "select run, cell, mean from summary order by cell", "--in", "RUN", "--json"),
        (
            "query",
            "select run, metric, max(value), count(*) from series group by all order by all",
            "--in",
            "RUN",
            "--json",
        ),
        ("trend", "RUN", "--json"),
        ("report", "RUN", "--json"),
        ("advise", "RUN", "--cell", "0", "--no-predict", "--json"),
    ],
    ids=lambda arguments: "-".join(arguments[:2]),
)
def test_a_result_of_a_store_tells_what_its_folder_tells(
    bucket: Bucket, database: Path, arguments: tuple[str, ...]
) -> None:
    folder = bucket.folder / "run"
    shutil.copytree(database, folder)
    url = bucket.url("deep/run")
    assert bucket.call("copy", folder, url).code == 0
    there, here = same_told(bucket, arguments, url, folder)
    assert there.stdout == here.stdout.replace(str(folder), url)
    assert there.stdout and "/tmp/flatwater-" not in there.stdout + there.stderr


def test_an_export_and_a_page_of_a_store(bucket: Bucket, database: Path) -> None:
    folder = bucket.folder / "run"
    shutil.copytree(database, folder)
    url = bucket.url("run")
    assert bucket.call("copy", folder, url).code == 0
    for source, name in ((url, "there"), (str(folder), "here")):
        assert bucket.call("export", source, "--to", f"{name}.csv").code == 0
    assert (bucket.folder / "there.csv").read_bytes() == (bucket.folder / "here.csv").read_bytes()
    nowhere = bucket.call("report", url)
    assert nowhere.code == 2 and "--out run.html" in nowhere.error
    assert bucket.call("report", url, "--out", "page.html").code == 0
    assert "<html" in (bucket.folder / "page.html").read_text()[:1000]


def test_from_python(bucket: Bucket, database: Path) -> None:
    folder = bucket.folder / "run"
    shutil.copytree(database, folder)
    assert bucket.call("copy", folder, bucket.url("run")).code == 0
    there, here = flatwater.load(bucket.url("run")), flatwater.load(folder)
    assert there.series().equals(here.series()) and there.summary().equals(here.summary())
    assert flatwater.compare(bucket.url("run"), folder).rows


def test_a_run_that_was_copied_there_by_another_tool(bucket: Bucket, result: Path) -> None:
    for file in files_of(result):
        bucket.put(f"aws/x/{file.name}", file.read_bytes())
    bucket.put("aws/x/movie.mkv", bytes(100))
    assert open_result(local_copy(bucket.url("aws/x")).folder).manifest.status == "complete"
    assert not (local_copy(bucket.url("aws/x")).folder / "movie.mkv").exists()
    listed = json.loads(bucket.call("ls", f"s3://{bucket.name}", "--json").stdout)
    assert [one["run"] for one in listed] == [bucket.url("aws/x")]


def test_a_list_of_runs_takes_no_series(memory: Memory, result: Path) -> None:
    upload(result, "s3://bucket/all/x")
    mirror = local_copy("s3://bucket/all", is_small, several=True)
    names = {file.name for file in mirror.folder.rglob("*") if file.is_file()}
    assert "summary.json" in names and not any(name.endswith(".parquet") for name in names)


HOSTILE = ["../../escaped", "/etc/escaped", "x/../../escaped", "a//escaped", "esc\x1b[2Japed", ".."]


@pytest.mark.parametrize("name", HOSTILE)
def test_objects_with_hostile_names_are_never_files(
    memory: Memory, result: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for file in files_of(result):
        memory.plant(f"x/{file.name}", file.read_bytes())
    memory.plant(f"x/{name}", b"escaped")
    memory.plant(f"all/{name}/flatwater.json", b"escaped")
    before = set(tmp_path.rglob("*"))
    mirror = local_copy("s3://bucket/x")
    assert any(repr(name)[1:-1] in told for told in mirror.left_out)
    with pytest.raises(UserError, match="there is no result"):
        local_copy("s3://bucket/all", several=True)
    made = set(tmp_path.rglob("*")) - before
    assert not any("aped" in path.name for path in made)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_list_with_hostile_names_is_refused(memory: Memory, tmp_path: Path, name: str) -> None:
    files = {name: {"size": 7, "sha256": "0" * 64}}
    body = {"kind": "flatwater-upload", "format": 1, "flatwater_version": "0", "run": word(), "holder": word()}
    memory.plant("x/uploaded.json", json.dumps(body | {"files": files}).encode())
    memory.plant(f"x/{name}", b"escaped")
    with pytest.raises(UserError, match="no name of a file"):
        local_copy("s3://bucket/x")
    with pytest.raises(UserError, match="no name of a file"):
        claim_again(parse_address("s3://bucket/x"), tmp_path / "x")
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "another tool wrote or changed it"),
        (b'{"kind": "other"}', "another tool wrote or changed it"),
        (json.dumps({"format": FORMAT + 1}).encode(), "upgrade flatwater"),
    ],
    ids=["empty", "deep", "list", "foreign", "newer"],
)
def test_a_list_that_is_none(memory: Memory, tmp_path: Path, body: bytes, told: str) -> None:
    memory.plant("x/uploaded.json", body)
    for call in (
        lambda: local_copy("s3://bucket/x"),
        lambda: claim_new(parse_address("s3://bucket/x"), tmp_path / "x"),
        lambda: claim_again(parse_address("s3://bucket/x"), tmp_path / "x"),
    ):
        with pytest.raises(UserError) as caught:
            call()
        assert told in str(caught.value) or "holds a run already" in str(caught.value)
    assert memory.objects["x/uploaded.json"][0] == body and not (tmp_path / "x").exists()


def test_a_result_of_a_newer_flatwater(memory: Memory, result: Path) -> None:
    manifest = json.loads((result / "flatwater.json").read_text())
    (result / "flatwater.json").write_text(json.dumps(manifest | {"schema_version": 99}))
    upload(result, "s3://bucket/x")
    with pytest.raises(UserError, match="upgrade flatwater"):
        open_result(local_copy("s3://bucket/x").folder)


def test_files_that_are_each_others_folders(memory: Memory) -> None:
    index = Index(run=word(), holder=word())
    empty = Entry(size=0, sha256="e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    index.files = {"a": empty, "a/b": empty}
    for name in ("a", "a/b"):
        memory.plant(f"x/{name}", b"")
    memory.plant("x/uploaded.json", index.model_dump_json().encode())
    with pytest.raises(UserError, match="cannot be written"):
        local_copy("s3://bucket/x")


def steps_of(memory: Memory, act: Callable[[], object]) -> int:
    """How many times the store is written to."""
    memory.calls.clear()
    act()
    return memory.calls.count("put")


def test_at_no_moment_of_an_upload_is_a_part_taken_for_the_whole(memory: Memory, result: Path, tmp_path: Path) -> None:
    """A kill before each of the writes: what a reader then finds is nothing, or all."""
    shutil.copytree(result, tmp_path / "first")
    writes = steps_of(memory, lambda: upload(tmp_path / "first", "s3://bucket/x"))
    assert writes > 6
    read = 0
    for kept in range(1, writes + 1):
        memory.objects.clear()
        folder = tmp_path / f"run{kept}"
        shutil.copytree(result, folder)
        put, left = memory.put, iter(range(kept))

        def put_or_die(*given: object, put: Callable[..., str] = put, left: object = left) -> str:
            if next(left, None) is None:  # type: ignore[call-overload]
                raise Killed
            return put(*given)

        memory.put = put_or_die  # type: ignore[method-assign]
        with suppress(Killed):
            upload(folder, "s3://bucket/x")
        memory.put = put  # type: ignore[method-assign]
        # Tools that do not know the list find what makes it a result only with all the rest.
        rest = {f"x/{file.name}" for file in files_of(result)}
        assert "x/flatwater.json" not in memory.objects or rest <= memory.objects.keys()
        try:
            opened = open_result(local_copy("s3://bucket/x").folder)
        except UserError as error:
            assert "no flatwater.json" in str(error)
        else:
            assert all((opened.path / file.name).read_bytes() == file.read_bytes() for file in files_of(result))
            read += 1
        # And the same call later brings all of it.
        again = Upload(claim_again(parse_address("s3://bucket/x"), folder))
        assert again.sync(whole=True)
        assert open_result(local_copy("s3://bucket/x").folder).manifest.status == "complete"
    assert read == 1


def test_a_reader_follows_a_writer(memory: Memory, result: Path, tmp_path: Path) -> None:
    """A file is replaced between the reading of the list and of the file: the list is read again."""
    made = upload(result, "s3://bucket/x")
    found = read_index(memory, made.address)
    assert found is not None
    (result / "tags.json").write_text('{"schema_version": 4, "tags": {"a": "b"}, "note": ""}')
    made.sync(whole=True)
    (result / "tags.json").write_text('{"schema_version": 4, "tags": {"a": "c"}, "note": ""}')
    stale = read_index(memory, made.address)
    assert stale is not None
    made.sync(whole=True)
    fetch_new(memory, made.address, stale[0], tmp_path / "back")
    assert json.loads((tmp_path / "back" / "tags.json").read_text())["tags"] == {"a": "c"}


def test_what_was_measured_by_nobody_here_is_not_deleted_there(memory: Memory, result: Path) -> None:
    """Files that are gone here stay there: only cells that the complete result holds are removed."""
    (result / "set-aside" / "0000-1").mkdir(parents=True)
    (result / "set-aside" / "0000-1" / "journal.jsonl").write_text("{}\n")
    made = upload(result, "s3://bucket/x")
    shutil.rmtree(result / "set-aside")
    made.sync(whole=True)
    assert "x/set-aside/0000-1/journal.jsonl" in memory.objects
    assert (local_copy("s3://bucket/x").folder / "set-aside" / "0000-1" / "journal.jsonl").exists()


def test_a_file_that_is_written_to_while_it_is_uploaded(memory: Memory, result: Path) -> None:
    made = Upload(claim_new(parse_address("s3://bucket/x"), result))
    put = memory.put

    def put_and_write(key: str, body: Path | bytes, *rest: object) -> str:
        etag = put(key, body, *rest)  # type: ignore[arg-type]
        if isinstance(body, Path) and body.name == "machine.json":
            body.write_text('{"later": 1}')
        return etag

    memory.put = put_and_write  # type: ignore[method-assign, assignment]
    with pytest.raises(UserError, match="was written to while it was uploaded"):
        made.sync(whole=True)
    memory.put = put  # type: ignore[method-assign]
    assert made.sync(whole=True)
    assert (local_copy("s3://bucket/x").folder / "machine.json").read_text() == '{"later": 1}'


def test_a_place_inside_that_of_a_run_is_refused(memory: Memory, result: Path, tmp_path: Path) -> None:
    upload(result, "s3://bucket/all/x")
    before = dict(memory.objects)
    with pytest.raises(UserError, match="lies in the place of a run, s3://bucket/all/x"):
        claim_new(parse_address("s3://bucket/all/x/deep/y"), tmp_path / "y")
    with pytest.raises(UserError, match="holds other objects"):
        claim_new(parse_address("s3://bucket/all"), tmp_path / "y")
    assert memory.objects == before and not (tmp_path / "y").exists()
    # A login that may see its own place only is not kept from it.
    memory.faults.append(("head", UserError("the login may not do that there")))
    assert claim_new(parse_address("s3://bucket/other/y"), tmp_path / "y")
    assert not memory.faults


def test_statements_of_clients_are_read_by_nobody_else(memory: Memory, tmp_path: Path) -> None:
    folder = synthetic.unfinished(tmp_path / "unfinished")
    (folder / "cells" / "0000" / "digests.jsonl").write_text("{}\n")
    upload(folder, "s3://bucket/x")
    copy = local_copy("s3://bucket/x").folder
    assert (copy / "cells" / "0000" / "digests.jsonl").stat().st_mode & 0o077 == 0
    assert (copy / "cells" / "0000" / "journal.jsonl").read_bytes() == (
        folder / "cells" / "0000" / "journal.jsonl"
    ).read_bytes()
