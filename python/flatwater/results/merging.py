"""Sorted parts of a run, merged into one sorted Parquet file of its result, in bounded memory."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from flatwater.errors import FlatwaterError
from flatwater.owned import FOLDER_FLAGS, create_folder, is_random_name
from flatwater.results.started import resume_command

#: Rows of a Parquet row group: one metric of a day-long run is about one group.
ROW_GROUP_ROWS = 131_072
#: Memory of DuckDB while it merges parts. The rest goes to temporary files in a folder of the result.
MERGE_MEMORY = "512MB"
#: What is in that folder: the merged file, and what DuckDB spills.
_MERGED, _SPILLED = "merged.parquet", "spilled"
#: How DuckDB's temporary files are called.
_OF_DUCKDB = "duckdb_temp_"


def merge_parts(parts: list[Path], target: Path, order: str) -> None:
    """Merges sorted parts into one sorted Parquet file, atomically. Errors: FlatwaterError; the parts stay."""
    import duckdb  # only sealing needs it, and reading must start fast

    try:
        with _opened(parts) as names, _workshop(target.parent) as (folder, workshop):
            _merge(names, workshop, order)
            with open(f"{workshop}/{_MERGED}", "rb+") as written:  # noqa: PTH123 (a path of this process alone)
                os.fsync(written.fileno())
            os.rename(f"{workshop}/{_MERGED}", target.name, dst_dir_fd=folder)
    except duckdb.Error as error:
        raise FlatwaterError(
            f"cannot write {target.name}: {error}",
            where=str(target.parent),
            hint=f"make room there, then: {resume_command(target.parent)}",
        ) from None


def _merge(names: list[str], workshop: str, order: str) -> None:
    import duckdb

    with duckdb.connect() as connection:
        connection.execute(f"SET memory_limit='{MERGE_MEMORY}'")
        connection.execute("SET temp_directory=?", [f"{workshop}/{_SPILLED}"])
        connection.execute("SET preserve_insertion_order=true")
        connection.read_parquet(names).order(order).write_parquet(
            f"{workshop}/{_MERGED}", compression="zstd", row_group_size=ROW_GROUP_ROWS
        )


@contextmanager
def _opened(parts: list[Path]) -> Iterator[list[str]]:
    """The parts under names without letters of the user's: DuckDB takes `*`, `?` and `[` of a path for a pattern."""
    # The folders between a result and its parts have names of flatwater's.
    above = os.path.commonpath([part.parent for part in parts])
    folder = os.open(above, FOLDER_FLAGS)
    try:
        yield [f"/proc/self/fd/{folder}/{part.relative_to(above)}" for part in parts]
    finally:
        os.close(folder)


@contextmanager
def _workshop(result: Path) -> Iterator[tuple[int, str]]:
    """A new folder in the result: a descriptor of the result, and the folder's path. It is gone afterwards."""
    folder = os.open(result, FOLDER_FLAGS)
    try:
        _clear_left(folder)
        name, workshop = create_folder(folder)
        try:
            yield folder, f"/proc/self/fd/{workshop}"
        finally:
            os.close(workshop)
            with suppress(OSError):
                shutil.rmtree(name, dir_fd=folder)
    finally:
        os.close(folder)


def _clear_left(folder: int) -> None:
    """Deletes what a killed merge left. The name is one that only flatwater makes, and so is all that is in it; a
    folder with anything else is somebody's, and stays.
    """
    for name in os.listdir(folder):
        if not is_random_name(name):
            continue
        with suppress(OSError):
            left = os.open(name, FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=folder)
            try:
                if _is_left(left):
                    shutil.rmtree(name, dir_fd=folder)
            finally:
                os.close(left)


def _is_left(workshop: int) -> bool:
    """Whether a folder holds nothing but what a merge writes."""
    names = set(os.listdir(workshop))
    if not names <= {_MERGED, _SPILLED}:
        return False
    if _SPILLED not in names:
        return True
    spilled = os.open(_SPILLED, FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=workshop)
    try:
        entries = os.listdir(spilled)  # noqa: PTH208 (a descriptor is no path)
        return all(name.startswith(_OF_DUCKDB) for name in entries)
    finally:
        os.close(spilled)
