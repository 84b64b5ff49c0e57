"""Names of objects that may become names of files here. Whoever can write to a bucket chooses them."""

from __future__ import annotations

import re

from flatwater.owned import is_random_name
from flatwater.results.collection import INDEX
from flatwater.results.lock import LOCK
from flatwater.results.result import is_cell_file
from flatwater.results.started import STARTED, UPLOAD
from flatwater.results.tags import TAGS

#: The object that lists the others: it makes them a result, and is written last (`index.py`).
UPLOADED = "uploaded.json"

#: Longest name of a file that file systems take, and longest name of an object in S3, in bytes.
_PART_BYTES_MAX, _NAME_BYTES_MAX = 255, 1024
_MANIFEST = "flatwater.json"
#: What a result has in its folder. Other files beside it are passed over where nothing lists what belongs to it.
_SMALL = {_MANIFEST, "experiment.toml", "machine.json", STARTED, "summary.json", TAGS}
_LARGE = {"series.parquet", "histograms.parquet"}
_CELL = re.compile(r"cells/\d{4,}/(?P<file>[^/]+)")
_MERGED = re.compile(r"(.*/)?cells/\d{4,}/[^/]+")
#: Which are uploaded last, in this order: what makes the others a result.
_LAST = ("summary.json", _MANIFEST, INDEX)


def is_plain(name: str) -> bool:
    """Whether a name is that of a file below a folder, whatever the folder is: no `..`, no root, one line of text."""
    try:
        whole, parts = name.encode(), [part.encode() for part in name.split("/")]
    except UnicodeEncodeError:
        return False
    if len(whole) > _NAME_BYTES_MAX or not name.isprintable() or "\\" in name:
        return False
    return all(part not in (b"", b".", b"..") and len(part) <= _PART_BYTES_MAX for part in parts)


def belongs(name: str) -> bool:
    """Whether a name is one that flatwater gives in the folder of one result."""
    if name in _SMALL or name in _LARGE:
        return True
    match = _CELL.fullmatch(name)
    return match is not None and is_cell_file(match["file"])


def is_small(name: str) -> bool:
    """Whether a file is all that lists of runs need: no series, no journal."""
    return name.rpartition("/")[2] in {*_SMALL, INDEX}


def is_merged_when_complete(name: str) -> bool:
    """Whether a file is of a cell: when the run is complete, the result has all of it in its own files."""
    return _MERGED.fullmatch(name) is not None


def is_uploaded(name: str) -> bool:
    """Whether a file of a result folder is uploaded: not what was half written, not where it is uploaded to, and not
    who runs it.
    """
    parts = name.split("/")
    return is_plain(name) and parts[-1] not in (UPLOAD, UPLOADED, LOCK) and not any(map(is_random_name, parts))


def order(name: str) -> tuple[int, int, str]:
    """Sorts files for their upload: what makes them a result comes last, and of nested results the outer one."""
    file = name.rpartition("/")[2]
    if is_merged_when_complete(name) or file not in _LAST:
        return (0, 0, name)
    return (1 + _LAST.index(file), -name.count("/"), name)
