"""The settings of XtraDB, the InnoDB of Percona Server and of MariaDB before 10.2: their names and values elsewhere."""

from __future__ import annotations

import re

from flatwater.server.lines import Server, refuse, refuse_missing, replace

#: XtraDB 5.5 has words (and counts none, area, cont from 0); InnoDB since 5.6 counts none, contiguous, whole area.
_TO_WORD = {"0": "none", "OFF": "none", "1": "cont", "ON": "cont", "2": "area"}
_TO_NUMBER = {"NONE": "0", "0": "0", "OFF": "0", "AREA": "2", "1": "2", "ON": "2", "CONT": "1", "2": "1"}
#: XtraDB 5.1 has a switch: no neighbours, or those in the whole area.
_TO_SWITCH = {"0": "0", "2": "1"}

#: What 5.5 calls the policies of 5.1; it took out reflex. Both accept numbers, and count differently.
_OF_5_5 = {"0": "native", "none": "native", "2": "estimate", "estimate": "estimate"}
_OF_5_5 |= {"3": "keep_average", "keep_average": "keep_average"}
_OF_5_1 = {"0": "none", "native": "none", "1": "estimate", "estimate": "estimate"}
_OF_5_1 |= {"2": "keep_average", "keep_average": "keep_average", "reflex": "reflex"}

#: Files that InnoDB makes in the data directory under these names.
_TAKEN = re.compile(r"ibdata\d*|ib_logfile\d+|ib_buffer_pool|ibtmp\d+|ib_lru_dump|ib_modified_log.*", re.IGNORECASE)


def _rewrite_neighbours(lines: dict[str, str], server: Server) -> None:
    """Flushing of neighbours: 0 none, 1 contiguous, 2 the whole extent."""
    new, old = "innodb_flush_neighbors", "innodb_flush_neighbor_pages"
    if new in lines and not server.has(new):
        word = _TO_WORD.get(lines[new].upper())
        if word is None:
            refuse(new, f"{lines[new]} is not one of 0, 1, 2")
        if server.has(old):
            replace(lines, new, old, word)
        elif word == "area" and server.is_mysql():
            # InnoDB did this before the setting existed.
            del lines[new]
        else:
            refuse_missing(new, server)
    elif old in lines and not server.has(old):
        value = _neighbours(lines[old])
        if server.has(new):
            replace(lines, old, new, value)
        elif value == "2":
            del lines[old]
        else:
            refuse_missing(old, server)
    elif new in lines and lines[new].upper() in {"ON", "OFF"}:
        lines[new] = "1" if lines[new].upper() == "ON" else "0"
    if old in lines and server.version < (5, 5, 0):
        switch = _TO_SWITCH.get(_neighbours(lines[old]))
        if switch is None:
            refuse(old, f"{server.title} writes all neighbours or none, and not only contiguous ones", "none or area")
        lines[old] = switch


def _neighbours(text: str) -> str:
    value = _TO_NUMBER.get(text.upper())
    if value is None:
        refuse("innodb_flush_neighbor_pages", f"{text} is not one of none, area, cont")
    return value


def _rewrite_log_block(lines: dict[str, str], server: Server) -> None:
    """The unit in which the redo log is written: a block size in XtraDB, "write ahead" in its successors."""
    old, new = "innodb_log_block_size", "innodb_log_write_ahead_size"
    if old in lines and not server.has(old):
        if server.has(new):
            replace(lines, old, new, lines[old])
        elif lines[old] == "512":
            del lines[old]
    elif new in lines and not server.has(new):
        if server.has(old):
            replace(lines, new, old, lines[new])
        elif lines[new] == "512":
            del lines[new]


def _rewrite_adaptive_flushing(lines: dict[str, str], server: Server) -> None:
    """XtraDB's flushing policies: innodb_adaptive_checkpoint in 5.1, innodb_adaptive_flushing_method in 5.5."""
    older, name = "innodb_adaptive_checkpoint", "innodb_adaptive_flushing_method"
    if older in lines and not server.has(older):
        value = _OF_5_5.get(lines[older].lower(), lines[older])
        if value.lower() in {"1", "reflex"}:
            refuse(older, "no server since 5.5 has reflex", "estimate or keep_average")
        replace(lines, older, name, value)
    elif name in lines and server.has(older):
        replace(lines, name, older, _OF_5_1.get(lines[name].lower(), lines[name]))
    if name in lines and not server.has(name) and lines[name] in {"native", "0"}:
        del lines[name]


def _check_doublewrite_file(lines: dict[str, str], server: Server) -> None:
    """The doublewrite buffer in a file of its own, which lies in the data directory like all files of a server."""
    name = "innodb_doublewrite_file"
    value = lines.get(name)
    if value is None or not server.has(name):
        return
    if not re.fullmatch(r"\w[\w.-]{0,63}", value, re.ASCII) or _TAKEN.fullmatch(value):
        refuse(
            name, f"{value} is no name of a new file in the data directory", "such as ib_doublewrite, without a path"
        )


#: In their order.
XTRADB = (_rewrite_neighbours, _rewrite_log_block, _rewrite_adaptive_flushing, _check_doublewrite_file)
