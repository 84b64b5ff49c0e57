"""The text of a file, whatever it is packed, marked or coloured with: one place for all formats."""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import re
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from flatwater.errors import UserError
from flatwater.spelling import guessed_path

#: The limit for text files. fio's per-IO logs are larger, and are read in another way.
TEXT_BYTES_MAX = 256 * 1024 * 1024
#: The size of a file's beginning that `auto` gives to each importer.
HEAD_BYTES = 64 * 1024
#: Byte order marks. That of UTF-32 begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
#: The first bytes of what Python can unpack.
_PACKED: dict[bytes, Callable[[BinaryIO], object]] = {
    b"\x1f\x8b": lambda handle: gzip.GzipFile(fileobj=handle),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\0": lzma.LZMAFile,
}
#: The first bytes of what it cannot: what it is, and what unpacks it.
_ARCHIVES = {b"\x28\xb5\x2f\xfd": ("zstd", "zstd -d"), b"PK\x03\x04": ("a zip archive", "unzip")}
#: Where a tar archive has its name.
_TAR = slice(257, 262)
#: What packers add to the name of a file.
_PACKED_NAME = re.compile(r"\.(?:gz|bz2|xz)$")
#: Colours of a terminal, which `script`, `grep --color` and some pagers leave in a file.
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]{0,20}[A-Za-z]|\([AB0])")


def why_no_file(mode: int) -> str:
    """Why something with this mode of `stat` is no file that can be read; empty for a file, and for a folder.

    What a pipe gives can be read once only, and one without a writer is waited for without end.
    """
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return ""
    return f"is {'a pipe' if stat.S_ISFIFO(mode) else 'a socket' if stat.S_ISSOCK(mode) else 'a device'}, not a file"


def unpacked_name(path: Path) -> str:
    """The name of a file without what packers add to it."""
    return _PACKED_NAME.sub("", path.name)


def stem_of(path: Path) -> str:
    """The name of a file without its last suffix, and without what packers add."""
    return Path(unpacked_name(path)).stem


def without_colours(text: str) -> str:
    """A text without the colours of a terminal."""
    return _ESCAPES.sub("", text) if "\x1b" in text else text


def read_head(path: Path) -> str:
    """The beginning of a text file. Errors: UserError for a file that cannot be read."""
    with _opened(path) as handle:
        text = decoded(handle.read(HEAD_BYTES))
        more = handle.read(1)
    if not text.strip():
        what = f"its first {HEAD_BYTES >> 10} KiB are blank" if more else "the file is empty"
        raise UserError(what, where=str(path), hint="did the benchmark run to its end?")
    if "\0" in text:
        hint = "unpack it first: tar -xf" if text[_TAR] == "ustar" else None
        raise UserError(
            "binary, not the text that a benchmark prints", where=f"{path}:{_line_of_zero(text)}", hint=hint
        )
    return text


def _line_of_zero(text: str) -> int:
    return text[: text.index("\0")].count("\n") + 1


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """The content of a file, unpacked. Errors: UserError for a file that cannot be read."""
    try:
        if why := why_no_file(path.stat().st_mode):
            raise UserError(why, where=str(path), hint="write it to a file first, and import that")
        with path.open("rb") as handle:
            begin = handle.read(max(map(len, (*_PACKED, *_ARCHIVES))))
            handle.seek(0)
            for magic, (what, command) in _ARCHIVES.items():
                if begin.startswith(magic):
                    raise UserError(
                        f"is {what}, which is not read", where=str(path), hint=f"unpack it first: {command}"
                    )
            unpack = next((one for magic, one in _PACKED.items() if begin.startswith(magic)), None)
            yield handle if unpack is None else cast("BinaryIO", unpack(handle))
    except IsADirectoryError:
        raise UserError("is a folder, not a file", where=str(path), hint="a flatwater result needs no import") from None
    except (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError) as error:
        raise _damaged(path, error) from None
    except OSError as error:
        if error.strerror is None:  # what bz2 says of damage
            raise _damaged(path, error) from None
        raise UserError(f"cannot read it: {error.strerror}", where=str(path), hint=guessed_path(path)) from None


def _damaged(path: Path, error: Exception) -> UserError:
    return UserError(f"cannot be unpacked: {error}", where=str(path), hint="the file is damaged or cut off")


def decoded(content: bytes) -> str:
    """The text of a file: UTF-8, or what its byte order mark says (PowerShell and Excel write others)."""
    encoding = next((name for mark, name in _MARKS if content.startswith(mark)), "utf-8")
    return without_colours(content.decode(encoding, errors="replace"))


def is_plain(path: Path) -> bool:
    """Whether a file is text as it lies there: not packed, marked or coloured. Errors: OSError."""
    with path.open("rb") as handle:
        head = handle.read(HEAD_BYTES)
    return not head.startswith((*_PACKED, *(mark for mark, _ in _MARKS))) and b"\x1b" not in head


def read_text(path: Path) -> str:
    """The text of a whole file. Errors: UserError for a file with NULs, or one that is too large."""
    read_head(path)
    with _opened(path) as handle:
        # No more is unpacked than that: a small file may hold any amount.
        content = handle.read(TEXT_BYTES_MAX + 1)
    if len(content) > TEXT_BYTES_MAX:
        raise UserError(f"larger than {TEXT_BYTES_MAX >> 20} MiB", where=str(path), hint="import parts of it")
    text = decoded(content)
    if "\0" in text:
        raise UserError("binary data in the text: the file is damaged", where=f"{path}:{_line_of_zero(text)}")
    return text
