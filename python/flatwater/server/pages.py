"""The pages of a data file: whether each is the page that belongs there, and was written whole.

Sources: InnoDB's fil0fil.h and fsp0fsp.h; for MariaDB's full_crc32 its fil0fil.h. Contents are not compared with their
checksums (innochecksum does that): what is found is a file of another table, zeros, garbage, and torn pages.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

Numbers = np.ndarray[Any, np.dtype[Any]]

_PAGE_NUMBER, _LSN_LOW, _FLAGS = 4, 20, 54
#: The last 8 bytes of a page. The low half of the LSN is the first half of them in full_crc32, else the second.
_TRAILER = 8
#: FSP_FLAGS_FCRC32_MASK_MARKER: a file of full_crc32. In older formats the bit belongs to no page size that there is.
_FULL_CRC32 = 0x10
#: Pages 64 to 191 of the system tablespace: the doublewrite buffer has pages of other files there.
_DOUBLEWRITE = slice(64, 192)
_DEFAULT_PAGE_BYTES = 16384
#: Pages that are read at once.
_PAGES_AT_ONCE = 512


def is_data_file(path: Path) -> bool:
    """Whether it is a tablespace whose pages are numbered from 0."""
    return path.suffix == ".ibd" or path.name == "ibdata1" or path.name.startswith(("undo0", "undo_0"))


def page_fault(path: Path) -> str | None:
    """What is wrong with the pages of a data file, in a few words; None if nothing is seen.

    Errors: OSError. Files with compressed or encrypted pages are only checked for their length.
    """
    with path.open("rb") as handle:
        flags = int.from_bytes(handle.read(_FLAGS + 4)[_FLAGS:], "big")
        page_bytes, full_crc32, is_plain = _format(flags)
        handle.seek(0)
        first = 0
        while block := handle.read(page_bytes * _PAGES_AT_ONCE):
            if len(block) % page_bytes:
                return f"ends within page {first + len(block) // page_bytes:,}"
            if is_plain:
                pages = np.frombuffer(block, np.uint8).reshape(-1, page_bytes)
                wrong = _wrong_pages(pages, first, full_crc32)
                if path.name == "ibdata1" and first == 0:
                    wrong[_DOUBLEWRITE] = False
                if wrong.any():
                    return f"page {first + int(wrong.argmax()):,} is damaged"
            first += len(block) // page_bytes
    return "is empty" if first == 0 else None


def _format(flags: int) -> tuple[int, bool, bool]:
    """The size of a page; whether the file is of full_crc32; whether its pages are not compressed or encrypted."""
    if flags & _FULL_CRC32:
        size = 512 << (flags & 0xF)
        plain = not flags & 0xE0
    else:
        shift = flags >> 6 & 0xF
        size = 512 << shift if shift else _DEFAULT_PAGE_BYTES
        plain = not flags & 0x1E and not flags & 1 << 13
    known = 4096 <= size <= 65536
    return (size if known else _DEFAULT_PAGE_BYTES), bool(flags & _FULL_CRC32), plain and known


def _wrong_pages(pages: Numbers, first: int, full_crc32: bool) -> Numbers:
    """For each page whether it is damaged. A page that was never written is zeros."""

    def number(start: int) -> Numbers:
        values: Numbers = np.ascontiguousarray(pages[:, start : start + 4]).view(">u4")[:, 0]
        return values

    size = pages.shape[1]
    tail = number(size - _TRAILER if full_crc32 else size - _TRAILER + 4)
    written = pages.any(axis=1)
    expected = np.arange(first, first + len(pages))
    wrong: Numbers = written & ((number(_PAGE_NUMBER) != expected) | (number(_LSN_LOW) != tail))
    return wrong
