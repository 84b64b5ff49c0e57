"""Where the parts of a server that runs already are, by its own variables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

#: Words of switches that are off.
_OFF = ("", "0", "OFF", "NONE")


def told_places(variables: Mapping[str, str], data: Path) -> dict[str, tuple[Path, ...]]:
    """Part, by its field of `database.placement` -> the folders or files that the server keeps it in, absolute.

    `variables`: those of SHOW GLOBAL VARIABLES; `data`: the data directory. Parts that the server does not have are
    absent. A part is there without a place if the server has it and does not tell where. Tables that are elsewhere are
    not among them: no variable names them.
    """
    found = {
        "redo_log": tuple(_folders(variables, data, "innodb_log_group_home_dir")),
        "undo_logs": tuple(_undo_logs(variables, data)),
        "doublewrite": tuple(_doublewrite(variables, data)),
        "binary_log": tuple(_binary_log(variables, data)),
        "temporary_files": tuple(dict.fromkeys(_temporary_files(variables, data))),
        "system_tablespace": tuple(dict.fromkeys(_files(variables, _home(variables, data), "innodb_data_file_path"))),
    }
    silent = ["binary_log"] if _is_on(variables, "log_bin") else []
    return {item: places for item, places in found.items() if places or item in silent}


def _is_on(variables: Mapping[str, str], name: str) -> bool:
    return variables.get(name, "").upper() not in _OFF


def _home(variables: Mapping[str, str], data: Path) -> Path:
    return data / variables.get("innodb_data_home_dir", "")


def _folders(variables: Mapping[str, str], base: Path, *names: str) -> Iterator[Path]:
    """The folders in variables that say one: a relative one is below `base`, where the server works."""
    yield from (base / variables[name] for name in names if variables.get(name))


def _files(variables: Mapping[str, str], base: Path, name: str) -> Iterator[Path]:
    """The files of a variable like `ibdata1:12M:autoextend;/other/ibdata2:12M`."""
    for file in variables.get(name, "").split(";"):
        path = file.partition(":")[0]
        if path:
            yield base / path


def _undo_logs(variables: Mapping[str, str], data: Path) -> Iterator[Path]:
    # Without files of their own they are in the system tablespace, whatever the folder. A MySQL without this variable
    # (9.7) always has such files; servers before MySQL 5.6 have no folder for them either.
    if "innodb_undo_tablespaces" not in variables or _is_on(variables, "innodb_undo_tablespaces"):
        yield from _folders(variables, data, "innodb_undo_directory")


def _doublewrite(variables: Mapping[str, str], data: Path) -> Iterator[Path]:
    if not _is_on(variables, "innodb_doublewrite"):
        return
    if "innodb_doublewrite_dir" in variables:
        # MySQL 8.0 Reference Manual, innodb_doublewrite_dir: if it is not set, innodb_data_home_dir.
        yield _home(variables, data) / variables["innodb_doublewrite_dir"]
    # Elsewhere it is in the system tablespace, unless this names a file (Percona's and MariaDB's XtraDB).
    yield from _folders(variables, data, "innodb_doublewrite_file")


def _binary_log(variables: Mapping[str, str], data: Path) -> Iterator[Path]:
    # MySQL since 5.6.2, MariaDB since 10.1.6.
    if _is_on(variables, "log_bin") and variables.get("log_bin_basename"):
        yield (data / variables["log_bin_basename"]).parent


def _temporary_files(variables: Mapping[str, str], data: Path) -> Iterator[Path]:
    # Several folders take turns (MySQL Reference Manual, tmpdir).
    yield from (data / folder for folder in variables.get("tmpdir", "").split(":") if folder)
    yield from _folders(variables, data, "innodb_tmpdir", "innodb_temp_tablespaces_dir")
    # MySQL 8.0, which has innodb_directories, takes the file as one below the data directory (see `parts.py`).
    base = data if "innodb_directories" in variables else _home(variables, data)
    yield from _files(variables, base, "innodb_temp_data_file_path")
