"""`database.settings`: the server's own settings, by its own names.

Which there are, and what values they take, is for the server to say when it starts. Refused here is only what no server
takes, what flatwater sets itself, and what would let the server write outside its own folder. Values stay as they are
written: a report shows "24M" where the file does.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from flatwater.experiment.database.option_line import LINE_BYTES_MAX, line_fault
from flatwater.experiment.problem import Problem, quote, raise_problems

#: Where the settings are in an experiment.
TABLE = "database.settings"

Setting = bool | int | float | str

_NAME = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)
#: No variable of MySQL or MariaDB has a longer name than 64, the limit of the columns of the tables that list them.
_LONGEST_NAME = 64
#: System variables are at most unsigned 64-bit numbers.
_LEAST, _MOST = -(2**63), 2**64 - 1

_PLACE = "flatwater puts the server's files under storage.path"
_SOCKET = "flatwater's servers listen on a socket of their own and nowhere else"
_SNAPSHOT = "flatwater copies the data directory from cell to cell, so it must hold everything"
_ITSELF = "flatwater starts the server itself"
_ALONE = "flatwater's servers reach no others"
_CODE = "an experiment's file brings no code"
#: Settings that are flatwater's own, and why.
_RESERVED = {
    **dict.fromkeys(("datadir", "tmpdir", "pid_file", "log_error", "secure_file_priv", "innodb_tmpdir"), _PLACE),
    **dict.fromkeys(("slow_query_log_file", "general_log_file", "log_bin_index", "relay_log", "chroot"), _PLACE),
    **dict.fromkeys(("socket", "port", "bind_address", "skip_networking", "networking", "extra_port"), _SOCKET),
    **dict.fromkeys(("admin_port", "admin_address", "mysqlx", "mysqlx_port", "mysqlx_socket"), _SOCKET),
    "mysqlx_bind_address": _SOCKET,
    **dict.fromkeys(("innodb_data_home_dir", "innodb_log_group_home_dir", "innodb_undo_directory"), _SNAPSHOT),
    **dict.fromkeys(("innodb_doublewrite_dir", "innodb_directories", "aria_log_dir_path"), _SNAPSHOT),
    **dict.fromkeys(("innodb_temp_tablespaces_dir", "innodb_redo_log_archive_dirs"), _SNAPSHOT),
    "innodb_parallel_doublewrite_path": _SNAPSHOT,
    **dict.fromkeys(("init_file", "user", "bootstrap", "initialize", "initialize_insecure", "daemonize"), _ITSELF),
    **dict.fromkeys(("defaults_file", "defaults_extra_file", "defaults_group_suffix", "no_defaults"), _ITSELF),
    **dict.fromkeys(("print_defaults", "help", "verbose", "version", "console"), _ITSELF),
    **dict.fromkeys(("skip_grant_tables", "grant_tables"), "flatwater logs in with a password of its own making"),
    **dict.fromkeys(("plugin_dir", "plugin_load", "plugin_load_add", "early_plugin_load"), _CODE),
    # Galera's: a library, and a command that the server runs.
    **dict.fromkeys(("wsrep_provider", "wsrep_notify_cmd", "wsrep_sst_method"), _CODE),
    # Options of servers before 5.5, which replicate from another one with them; MariaDB's plugin that sends a report.
    **dict.fromkeys(("master_host", "master_user", "master_password", "master_port", "master_info_file"), _ALONE),
    **dict.fromkeys(("feedback", "feedback_url", "feedback_http_proxy"), _ALONE),
    **dict.fromkeys(("log_syslog", "log_error_services", "log_basename"), _PLACE),
    **dict.fromkeys(("innodb_read_only", "innodb_force_recovery"), "a workload needs a server that writes"),
    "basedir": "it follows from database.binary",
}
#: What the server takes off the front of an option's name (MySQL manual, "Program Option Modifiers").
_MODIFIERS = ("loose_", "skip_", "disable_", "enable_", "maximum_")
#: Settings that hold statements.
_STATEMENTS = ("init_connect", "init_replica", "init_slave")
#: Settings whose value may have a slash. Every other one may name a file that the server, or a plugin of it, writes
#: (`audit_log_file`, `slave_load_tmpdir`).
SLASHED = frozenset(
    {
        # Files that a server only reads.
        *("ssl_ca", "ssl_capath", "ssl_cert", "ssl_crl", "ssl_crlpath", "ssl_key"),
        *("admin_ssl_ca", "admin_ssl_capath", "admin_ssl_cert", "admin_ssl_crl", "admin_ssl_crlpath", "admin_ssl_key"),
        *("character_sets_dir", "ft_stopword_file", "language", "lc_messages_dir"),
        # Names of tables (`schema/table`), and of time zones (`Europe/Berlin`).
        *("innodb_ft_aux_table", "innodb_ft_server_stopword_table", "innodb_ft_user_stopword_table"),
        "default_time_zone",
        *_STATEMENTS,
    }
)


def spell(name: str) -> str:
    """A setting's name as flatwater writes it: option files take dashes for underscores."""
    return name.replace("-", "_")


def name_fault(name: str) -> tuple[str, str | None] | None:
    """Why a name cannot stand in `settings`, and a hint; None when it can."""
    if len(name) > _LONGEST_NAME:
        return f"a name of {len(name)} letters is no setting of any server", None
    if not _NAME.fullmatch(name):
        lower = spell(name).lower()
        hint = f"did you mean {lower}?" if _NAME.fullmatch(lower) else "like innodb_io_capacity = 2000"
        return "names of settings have small letters, digits and underscores", hint
    bare = _bare(name)
    if bare in _RESERVED:
        return f"is not the experiment's to set: {_RESERVED[bare]}", "take it out"
    return None


def _bare(name: str) -> str:
    """The name without its modifiers."""
    while modifier := next((m for m in _MODIFIERS if name.startswith(m) and name not in _RESERVED), None):
        name = name.removeprefix(modifier)
    return name


def value_fault(name: str, value: Any) -> tuple[str, str | None] | None:
    """Why a value cannot be that of the setting `name`, and a hint; None when it can."""
    if isinstance(value, list):
        return f"must be one value, not {quote(value)}", 'to sweep it: [sweep] "database.settings.NAME" = [...]'
    if not isinstance(value, bool | int | float | str):
        return f"must be a number, text, true or false, not {quote(value)}", None
    if isinstance(value, float) and not math.isfinite(value):
        return f"must be a finite number, not {quote(value)}", None
    if isinstance(value, int) and not _LEAST <= value <= _MOST:
        return f"is more than any server takes: {quote(value)}", None
    if isinstance(value, str) and not value.isprintable():
        return f"must be one line of at most {LINE_BYTES_MAX:,} printable characters, not {quote(value)}", None
    if isinstance(value, str) and (fault := line_fault(name, value)):
        return fault, None
    if isinstance(value, str) and is_path(value) and _bare(name) not in SLASHED:
        hint = "give a name without a slash; [database.storages] puts parts of a server on other storages"
        return f"may name a place outside the server's folder, {quote(value)}: {_PLACE}", hint
    return None


def is_path(text: str) -> bool:
    """Whether a server takes the text for more than the name of a file in its data directory, if it is of a file.

    `~` and `~name` are home directories, and `..` is the directory above (MySQL, mysys/mf_pack.c).
    """
    text = text.strip()
    return "/" in text or text == ".." or text.startswith("~")


def holds_statements(name: str) -> bool:
    """Whether the server runs what this setting says."""
    return _bare(name) in _STATEMENTS


def read_settings(table: Any) -> Any:
    """The settings with their names spelled with underscores; refuses what cannot stand there, all of it at once."""
    if not isinstance(table, Mapping):
        return table
    raise_problems("settings", _faults(table))
    return {spell(name): value for name, value in table.items()}


def _faults(table: Mapping[str, Any]) -> Iterator[Problem]:
    seen: dict[str, str] = {}
    for written, value in table.items():
        name = spell(written)
        about = (f"{TABLE}.{name}",)
        if seen.setdefault(name, written) != written:
            yield Problem(name, f"is set twice, as {seen[name]} and as {written}", "keep one", about)
        elif fault := name_fault(name) or value_fault(name, value):
            yield Problem(name, *fault, about)


def spell_field(field: str) -> str:
    """A dotted field, swept or not, with a setting's dashes turned into underscores."""
    layer, table, name = field.rpartition(f"{TABLE}.")
    return f"{layer}{table}{spell(name)}" if table else field
