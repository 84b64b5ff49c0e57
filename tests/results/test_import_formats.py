"""Files that are nothing we know, whatever they are, end in one line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flatwater.errors import UserError
from flatwater.results.importers import FORMATS, NAMES, find_importer, read_files

sys.path.insert(0, str(Path(__file__).parent))
from import_samples import SAMPLES


@pytest.mark.parametrize("path", sorted(path for path in SAMPLES.rglob("*") if path.is_file()), ids=lambda p: p.name)
def test_every_sample_is_recognised_by_one_format_only(path: Path) -> None:
    head = path.read_text()[:65536]
    assert [importer.NAME for importer in FORMATS if importer.recognises(path, head)] == [find_importer(path).NAME]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "the file is empty"),
        (b"\n  \n", "the file is empty"),
        (b"text\nand\0binary", r"what:2: binary"),
        (b"\x89PNG\r\n\x1a\n\xff\xfe", "no benchmark output that we know"),
        (b"hello world\n", "begins with 'hello world'.*formats are fio-json"),
        (b'{"jobs": []}', "no benchmark output"),
    ],
)
def test_unknown(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "what"
    path.write_bytes(content)
    with pytest.raises(UserError, match=says) as error:
        read_files([path])
    assert "\n" not in str(error.value)


def test_not_there_or_a_folder(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No such file"):
        read_files([tmp_path / "none"])
    with pytest.raises(UserError, match="is a folder"):
        read_files([tmp_path])


@pytest.mark.parametrize("name", NAMES)
def test_a_format_that_it_is_not(tmp_path: Path, name: str) -> None:
    path = tmp_path / "x_iops.1.log"
    path.write_text("nothing of the kind\n")
    with pytest.raises(UserError):
        read_files([path], name)


@settings(max_examples=150)
@given(data=st.data())
def test_damage_ends_in_a_result_or_in_one_line(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    source = data.draw(st.sampled_from(sorted(path for path in SAMPLES.rglob("*") if path.is_file())))
    content = bytearray(source.read_bytes())
    for _ in range(data.draw(st.integers(0, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("damaged") / source.name
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    for name in ("auto", *NAMES):
        try:
            read_files([path], name)
        except UserError as error:
            assert "\n" not in str(error)
