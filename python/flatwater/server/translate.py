"""Translates settings from the names in common use to those of the server that runs.

Each rule rewrites the settings that have another name or form in this server. After the rules, every setting must be an
option of the server. Any other setting is refused before data is loaded. A setting that the server would accept and
ignore is refused, too, unless its value is what the server does without it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from flatwater.experiment.database.settings import name_fault, value_fault
from flatwater.server.binary import Binary
from flatwater.server.lines import Server, Value, read_switch, refuse, refuse_missing, replace
from flatwater.server.settings import shaping
from flatwater.server.sizes import print_size, read_size, write_size
from flatwater.server.values import check_values
from flatwater.server.xtradb import XTRADB

#: What a shell takes as it is. The tool that makes a data directory is given the settings that shape it, and may be a
#: script that does not quote them (mariadb-install-db, mysql_install_db).
_SHELL_WORD = re.compile(r"[\w.:;,+-]*", re.ASCII)


def translate(settings: Mapping[str, Value], binary: Binary) -> dict[str, str]:
    """The settings of an experiment as lines of this server's my.cnf: name -> value, "" for a name alone.

    Errors: UserError at `database.settings.NAME` for a setting or a value that this server does not have.
    """
    lines = translate_for(settings, Server(binary.flavour, binary.version, binary.options().keys()))
    check_values(lines, binary)
    return lines


def translate_for(settings: Mapping[str, Value], server: Server) -> dict[str, str]:
    """`translate` without the check of the values, for which the server's program would be needed."""
    lines: dict[str, str] = {}
    for written, value in settings.items():
        name = _name(written)
        if name in lines:
            refuse(name, f"{name} is there twice")
        lines[name] = _text(name, value)
    for rule in RULES:
        rule(lines, server)
    if server.version < (5, 6, 0):
        # MySQL 5.5.9, for example, accepts only these words for its switches.
        words = {"on": "1", "off": "0"}
        lines = {name: words.get(value.lower(), value) for name, value in lines.items()}
    for name, value in shaping(lines).items():
        if not _SHELL_WORD.fullmatch(value):
            refuse(name, f"its value has letters, digits and . : ; , + - _ only, not {value!r}")
    for name in lines:
        if not server.has(name) and not (name == "skip_log_bin" and "log_bin" in server.options):
            refuse_missing(name, server)
    return lines


def _name(written: str) -> str:
    name = written.replace("-", "_").lower()
    if not re.fullmatch(r"[a-z][a-z0-9_.]{0,63}", name):
        refuse(written[:64], "this is not the name of a setting", "letters, digits and _")
    if fault := name_fault(name):
        refuse(written, *fault)
    return name


def _text(name: str, value: Value) -> str:
    if isinstance(value, bool):
        return "ON" if value else "OFF"
    if isinstance(value, float):
        return format(value, ".15g") if value % 1 else str(int(value))
    text = str(value).strip()
    if not text or any(ord(character) < 32 for character in text):
        refuse(name, "a setting's value is one line of text, and not empty")
    if fault := value_fault(name, text):
        refuse(name, *fault)
    # Experiments may have 64MiB and 1T, which option files do not accept.
    if re.fullmatch(r"[0-9]{1,19}\s*(?:[KMGT]iB|T)", text, re.IGNORECASE):
        return write_size(read_size(text) or 0)
    return text


def _rewrite_redo_size(lines: dict[str, str], server: Server) -> None:
    """The size of the redo log: files x size before MySQL 8.0.30 and MariaDB 10.5, then one capacity."""
    size, files, capacity = (
        lines.get(name) for name in ("innodb_log_file_size", "innodb_log_files_in_group", "innodb_redo_log_capacity")
    )
    if capacity is not None and (size or files):
        refuse(
            "innodb_redo_log_capacity",
            "the redo log's size is given twice",
            "either innodb_redo_log_capacity or innodb_log_file_size x innodb_log_files_in_group",
        )
    one_file = server.is_mariadb((10, 5, 0))
    if one_file and files == "1":
        del lines["innodb_log_files_in_group"]
    elif (one_file or server.has("innodb_redo_log_capacity")) and files is not None:
        if size is None:
            refuse(
                "innodb_log_files_in_group",
                f"{server.title} has one redo log, so the number of files says nothing without innodb_log_file_size",
            )
        size = write_size(_size("innodb_log_file_size", size) * _count("innodb_log_files_in_group", files))
        del lines["innodb_log_files_in_group"]
        lines["innodb_log_file_size"] = size
    if server.has("innodb_redo_log_capacity"):
        if size is not None:
            # The default number of files was 2.
            total = _size("innodb_log_file_size", size) * (1 if files is not None else 2)
            replace(lines, "innodb_log_file_size", "innodb_redo_log_capacity", write_size(total))
    elif capacity is not None and one_file:
        replace(lines, "innodb_redo_log_capacity", "innodb_log_file_size", capacity)
    elif capacity is not None:
        half = write_size(_size("innodb_redo_log_capacity", capacity) // 2)
        refuse(
            "innodb_redo_log_capacity",
            f"{server.title} does not have it: its redo log is several files of a size",
            f"innodb_log_file_size = {half} and innodb_log_files_in_group = 2 are as much",
        )
    _check_redo_limit(lines, server)


def _check_redo_limit(lines: dict[str, str], server: Server) -> None:
    if server.flavour != "mysql" or server.version >= (5, 6, 3) or "innodb_log_file_size" not in lines:
        return
    files = _count("innodb_log_files_in_group", lines.get("innodb_log_files_in_group", "2"))
    total = files * _size("innodb_log_file_size", lines["innodb_log_file_size"])
    if total >= 4 * 2**30:
        # "The combined size of log files must be less than 4GB" (manual of 5.5); 5.6.3 raised it to 512 GB.
        refuse(
            "innodb_log_file_size",
            f"a redo log of {print_size(total)} is more than {server.title} can have, which is just under 4 GiB in all",
            "Percona Server 5.5 and MySQL 5.6 can have more",
        )


def _rewrite_hash_partitions(lines: dict[str, str], server: Server) -> None:
    for name, other in (
        ("innodb_adaptive_hash_index_parts", "innodb_adaptive_hash_index_partitions"),
        ("innodb_adaptive_hash_index_partitions", "innodb_adaptive_hash_index_parts"),
    ):
        if name in lines and not server.has(name) and server.has(other):
            replace(lines, name, other, lines[name])


def _rewrite_checksums(lines: dict[str, str], server: Server) -> None:
    """Page checksums: a switch in 5.5, an algorithm since 5.6."""
    switch, algorithm = "innodb_checksums", "innodb_checksum_algorithm"
    on = read_switch(lines.get(switch))
    if switch in lines and server.has(algorithm):
        if on is None:
            refuse(switch, f"{lines[switch]} is neither true nor false")
        if on or algorithm in lines:
            del lines[switch]
        else:
            replace(lines, switch, algorithm, "none")
    elif algorithm in lines and not server.has(algorithm) and server.has(switch):
        value = lines[algorithm].lower()
        if value not in {"innodb", "none"}:
            refuse(algorithm, f"{server.title} knows only its own checksum and none", "innodb or none")
        replace(lines, algorithm, switch, "ON" if value == "innodb" else "OFF")
    value = lines.get(algorithm, "").lower()
    if server.is_mariadb((10, 6, 0)) and value in {"innodb", "none", "strict_innodb", "strict_none"}:
        refuse(algorithm, f"MariaDB writes no {value} checksums since 10.6", "crc32 or full_crc32")
    if "full_crc32" in value and not server.is_mariadb((10, 4, 3)):
        refuse(algorithm, f"{server.title} does not know {value}: MariaDB does, since 10.4.3", "crc32")


#: Names of flush methods on Linux and Windows, and their numbers.
_FLUSH_METHODS = {
    "FSYNC",
    "FDATASYNC",
    "O_DSYNC",
    "LITTLESYNC",
    "NOSYNC",
    "O_DIRECT",
    "O_DIRECT_NO_FSYNC",
    "ALL_O_DIRECT",
    "NORMAL",
    "UNBUFFERED",
    "ASYNC_UNBUFFERED",
    *"0123456",
}


def _check_common_values(lines: dict[str, str], server: Server) -> None:
    """Refuses values that only some servers have, of settings that all servers have."""
    value = lines.get("innodb_doublewrite", "").upper()
    if value in {"DETECT_ONLY", "DETECT_AND_RECOVER"} and not server.is_mysql((8, 0, 30)):
        refuse("innodb_doublewrite", f"{server.title} has no {value}: MySQL does, since 8.0.30", "true or false")
    if value == "FAST" and not server.is_mariadb((11, 0, 6)):
        refuse(
            "innodb_doublewrite", f"{server.title} has no fast doublewrite: MariaDB does, since 11.0.6", "true or false"
        )
    method = lines.get("innodb_flush_method", "").upper()
    if method and method not in _FLUSH_METHODS:
        # Some servers report this only when they start.
        refuse("innodb_flush_method", f"no server has {lines['innodb_flush_method']}", "O_DIRECT or fsync")
    xtradb = server.flavour == "percona" and server.version < (8, 0, 0)
    if method == "ALL_O_DIRECT" and not xtradb and not (server.is_mariadb() and server.version < (10, 2, 0)):
        refuse("innodb_flush_method", f"{server.title} has no ALL_O_DIRECT: XtraDB had", "O_DIRECT")
    if method == "O_DIRECT_NO_FSYNC" and server.version < (5, 6, 7):
        refuse("innodb_flush_method", f"{server.title} has no O_DIRECT_NO_FSYNC: MySQL does, since 5.6.7", "O_DIRECT")
    if lines.get("thread_handling", "").lower() == "pool-of-threads" and server.flavour == "mysql":
        refuse("thread_handling", f"{server.title} has no pool of threads: MariaDB and Percona Server have")


def _rewrite_binary_log(lines: dict[str, str], server: Server) -> None:
    """The binary log: `log_bin` is the name of its files, not a switch. MySQL 8 has one unless it is switched off."""
    value = lines.get("log_bin")
    if value is None:
        return
    on = read_switch(value)
    if on:
        lines["log_bin"] = "binlog"
    elif on is False:
        del lines["log_bin"]
        if server.is_mysql((8, 0, 0)):
            lines["skip_log_bin"] = ""
    elif not re.fullmatch(r"[\w-]+", value):
        refuse("log_bin", "true, false, or the first part of the files' names")


#: Values that a server without the setting has anyway.
_IMPLIED = {
    "innodb_buffer_pool_instances": {"1"},
    "innodb_change_buffering": {"none"},
    "innodb_checkpoint_age_target": {"0"},
    "innodb_commit_concurrency": {"0"},
    "innodb_thread_concurrency": {"0"},
    "query_cache_size": {"0"},
    "query_cache_type": {"0", "off"},
}


def _drop_implied(lines: dict[str, str], server: Server) -> None:
    """Removes settings that a server lacks, if their values are what it does without them."""
    for name, values in _IMPLIED.items():
        if name in lines and lines[name].lower() in values and not server.has(name):
            del lines[name]
    one_cleaner = server.is_mariadb((10, 0, 0)) or server.is_mysql((5, 6, 0))
    if lines.get("innodb_page_cleaners") == "1" and one_cleaner and not server.has("innodb_page_cleaners"):
        del lines["innodb_page_cleaners"]


#: The rules run in this order; each may rewrite the result of those before it.
RULES: tuple[Callable[[dict[str, str], Server], None], ...] = (
    _rewrite_redo_size,
    *XTRADB,
    _rewrite_hash_partitions,
    _rewrite_checksums,
    _check_common_values,
    _rewrite_binary_log,
    _drop_implied,
)


def split(settings: Mapping[str, str], instances: int) -> dict[str, str]:
    """The settings of each of several servers: innodb_buffer_pool_size is the total of all, and is divided evenly.

    Errors: UserError when that leaves a server less than it can start with.
    """
    name = "innodb_buffer_pool_size"
    if instances == 1 or name not in settings:
        return dict(settings)
    # In whole MiB; no server starts with less than 5 (MySQL's manual).
    share = _size(name, settings[name]) // instances // 2**20
    if share < 5:
        refuse(
            name,
            f"{settings[name]} for {instances} servers leave each less than 5 MiB",
            "more memory, or fewer instances",
        )
    return {**settings, name: f"{share}M"}


def _size(name: str, text: str) -> int:
    size = read_size(text)
    if not size:
        refuse(name, f"{text} is not a size", "such as 512M or 4G")
    return size


def _count(name: str, text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,4}", text) or not int(text):
        refuse(name, f"{text} is not a number of files", "such as 2")
    return int(text)
