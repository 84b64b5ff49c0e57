"""Names and addresses: whoever can write to a bucket chooses the names in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from flatwater.errors import UserError
from flatwater.stores import is_address, parse_address
from flatwater.stores.index import Entry, Index, word
from flatwater.stores.names import belongs, is_plain, is_uploaded, order

HOSTILE = [
    *("../x", "a/../../x", "/etc/passwd", "//x", "a//b", "./x", "a/.", "..", "", "a/", "a\x00b", "a\nb", "a\x1b[2Jb"),
    *("..\\x", "x" * 256, "/".join(["x" * 200] * 6), "\udcff"),
]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_no_file(name: str) -> None:
    assert not is_plain(name) and not belongs(name) and not is_uploaded(name)


@pytest.mark.parametrize("name", [name for name in HOSTILE if name != "\udcff"])
def test_a_list_with_a_hostile_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="no name of a file"):
        Index(run=word(), holder=word(), files={name: Entry(size=1, sha256="0" * 64)})


def test_what_a_result_consists_of() -> None:
    assert (
        belongs("flatwater.json") and belongs("cells/0001/journal.jsonl") and belongs("cells/0001/series-000.parquet")
    )
    assert not belongs("movie.mkv") and not belongs("cells/0001/movie.mkv") and not belongs("cells/x/journal.jsonl")
    assert (
        not is_uploaded("upload.json")
        and not is_uploaded("run.lock")
        and not is_uploaded("cells/.flatwater-0123456789abcdef")
    )
    assert is_uploaded("servers/0000/error.log")


def test_what_makes_a_result_is_uploaded_last() -> None:
    names = ["experiments.json", "a/flatwater.json", "a/summary.json", "a/cells/0000/summary.json", "a/series.parquet"]
    last = ["a/summary.json", "a/flatwater.json", "experiments.json"]
    assert sorted(names, key=order) == ["a/cells/0000/summary.json", "a/series.parquet", *last]


def test_an_address_may_have_become_a_path() -> None:
    assert str(parse_address(Path("s3://bucket/a/b"))) == str(parse_address("s3://bucket/a/b/")) == "s3://bucket/a/b"
    assert str(parse_address("s3://bucket")) == "s3://bucket"
    assert not is_address("results/s3") and not is_address(Path("s3")) and not is_address("mysql://db1")


@pytest.mark.parametrize(
    "written", ["s3://", "s3://b", "s3://b!/x", "s3://bucket/a/../b", "s3://bucket/a//b", "s3://bucket/a\nb"]
)
def test_what_is_no_address(written: str) -> None:
    with pytest.raises(UserError):
        parse_address(written)


def test_a_result_needs_a_name_in_the_bucket() -> None:
    with pytest.raises(UserError, match="needs a name in the bucket"):
        parse_address("s3://bucket", to_write=True)


def test_a_login_in_an_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(UserError) as caught:
        parse_address("s3://KEY:TOPSECRET@bucket/x")
    assert "TOPSECRET" not in str(caught.value) and "AWS_SECRET_ACCESS_KEY" in str(caught.value)
