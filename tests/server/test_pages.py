"""Damaged pages of data files: planted in pages made by hand, and in the files of a real server."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

import pytest

from flatwater.server.pages import is_data_file, page_fault

PAGE = 16384
#: Flags of a tablespace: MySQL 5.7 and later (pages of 16 KiB), and MariaDB's full_crc32 (code 5: 16 KiB).
PLAIN, FULL_CRC32 = 0, 0x15


def page(number: int, flags: int, lsn: int = 77) -> bytes:
    made = bytearray(PAGE)
    struct.pack_into(">I", made, 4, number)
    struct.pack_into(">Q", made, 16, lsn)
    struct.pack_into(">I", made, PAGE - (8 if flags & 0x10 else 4), lsn)
    if number == 0:
        struct.pack_into(">I", made, 54, flags)
    return bytes(made)


def table(flags: int, pages: int = 1100) -> bytearray:
    return bytearray(b"".join(page(number, flags, lsn=number + 1) for number in range(pages)))


@pytest.mark.parametrize("flags", [PLAIN, FULL_CRC32])
@pytest.mark.parametrize("at", [1, 700, 1099])
def test_planted_damage_is_found_where_it_is(tmp_path: Path, flags: int, at: int) -> None:
    path = tmp_path / "t.ibd"
    path.write_bytes(table(flags))
    assert page_fault(path) is None
    for start, written in ((4, b"\0\0\x99\x99"), (PAGE - 8, b"\x55" * 8), (0, b"\xab" * PAGE)):
        content = table(flags)
        content[at * PAGE + start : at * PAGE + start + len(written)] = written
        path.write_bytes(content)
        assert page_fault(path) == f"page {at:,} is damaged"


def test_lengths_and_pages_that_were_never_written(tmp_path: Path) -> None:
    path = tmp_path / "t.ibd"
    path.write_bytes(b"")
    assert page_fault(path) == "is empty"
    path.write_bytes(table(PLAIN, 3)[:-1])
    assert page_fault(path) == "ends within page 2"
    path.write_bytes(table(PLAIN, 3) + bytes(4 * PAGE))
    assert page_fault(path) is None


def test_the_doublewrite_buffer_holds_pages_of_other_files(tmp_path: Path) -> None:
    content = table(PLAIN, 200)
    content[70 * PAGE : 71 * PAGE] = page(4711, PLAIN)
    for name, fault in (("ibdata1", None), ("t.ibd", "page 70 is damaged")):
        (tmp_path / name).write_bytes(content)
        assert page_fault(tmp_path / name) == fault


def test_the_files_of_a_real_server(empty_data: Path, tmp_path: Path) -> None:
    files = [path for path in empty_data.rglob("*") if is_data_file(path)]
    assert len(files) > 2
    assert {path.name: page_fault(path) for path in files} == {path.name: None for path in files}
    copy = shutil.copyfile(empty_data / "ibdata1", tmp_path / "ibdata1")
    with copy.open("r+b") as handle:
        handle.seek(5 * PAGE)
        handle.write(bytes(8192))
    assert page_fault(copy) == "page 5 is damaged"
