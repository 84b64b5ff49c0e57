"""The limit of a server's checkpoint age, for servers that do not report it themselves.

Each rule is the server's own. A server without a known rule has no limit here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

#: The variables of SHOW GLOBAL VARIABLES that the rules need.
VARIABLES = (
    "innodb_log_file_size",
    "innodb_log_files_in_group",
    "innodb_page_size",
    "innodb_redo_log_capacity",
    "innodb_thread_concurrency",
    # MySQL from 8.0.11 on has this variable. Until 8.0.29 it has the old files and other rules.
    "innodb_log_spin_cpu_abs_lwm",
)
#: Log blocks are aligned to this many bytes.
BLOCK = 512
#: Header of a log file (LOG_FILE_HDR_SIZE).
HEADER = 4 * BLOCK
PAGE = 16384
#: LOG_CHECKPOINT_FREE_PER_THREAD pages are kept for each thread; ten of the threads are the server's own.
FREE_PAGES, OWN_THREADS = 4, 10
#: LOG_CHECKPOINT_EXTRA_FREE: pages that are kept in addition.
EXTRA_PAGES = 8
#: The margin that MySQL 8.0 never uses is at most what so many threads may need.
SPARE_THREADS = 256


def age_max_bytes(variables: Mapping[str, str], redo_capacity: float | None = None) -> float | None:
    """The age in bytes at which writers must wait; None if no rule is known for this server.

    `variables`: those of `VARIABLES` that the server has; `redo_capacity`: the current size of the log, if the server
    reports it.
    """
    numbers = {name: int(text) for name, text in variables.items() if text.isdecimal()}
    capacity = redo_capacity or numbers.get("innodb_redo_log_capacity")
    if capacity:
        return _by_capacity(float(capacity), numbers)
    if {"innodb_log_file_size", "innodb_log_files_in_group"} <= numbers.keys():
        return _by_files_of_8(numbers) if "innodb_log_spin_cpu_abs_lwm" in numbers else _by_files(numbers)
    return None


def _by_files(numbers: Mapping[str, int]) -> float:
    """MySQL 5.1 to 5.7 and servers made from them: `log_calc_max_ages` of log0log.c (5.5), log0log.cc (5.7)."""
    usable = numbers["innodb_log_files_in_group"] * (numbers["innodb_log_file_size"] - HEADER)
    page = numbers.get("innodb_page_size", PAGE)
    threads = OWN_THREADS + numbers.get("innodb_thread_concurrency", 0)
    free = FREE_PAGES * page * threads + EXTRA_PAGES * page
    return max(0.0, 0.9 * (0.9 * usable - free))


def _by_files_of_8(numbers: Mapping[str, int]) -> float:
    """MySQL 8.0.11 to 8.0.29: `log_calc_max_ages`, `log_calc_concurrency_margin` and `log_get_free_check_capacity` of
    log0chkp.cc (log0log.cc in the first of them).

    A tenth of the files is never used, at most 256 times what a thread may need. The log writer keeps 5 % of the rest
    for itself. Users stop before what the threads may need and another 5 %. The server may widen this margin while it
    runs, and keeps a little more for the dictionary: both make the true limit lower.
    """
    usable = numbers["innodb_log_files_in_group"] * (numbers["innodb_log_file_size"] - HEADER)
    page = numbers.get("innodb_page_size", PAGE)
    writer = usable - min(0.1 * usable, SPARE_THREADS * FREE_PAGES * page)
    threads = OWN_THREADS + numbers.get("innodb_thread_concurrency", 0)
    margin = FREE_PAGES * page * threads + EXTRA_PAGES * page + 0.05 * writer
    return max(0.0, 0.95 * writer - min(margin, 0.5 * writer))


def _by_capacity(capacity: float, numbers: Mapping[str, int]) -> float:
    """MySQL from 8.0.30 on: log0files_capacity.cc, `log_concurrency_margin` of log0chkp.cc, log0constants.h.

    There are 32 files, of which two are kept free, minus headers, two pages of 64 KiB and a tenth of a file. The log
    writer keeps 5 % of that for itself. The rest, minus 5 % and what the threads may need (at most half of it), is for
    the users.
    """
    file_bytes = capacity / 32 // PAGE * PAGE
    hard = capacity * 30 / 32 - (31 * HEADER + 2 * 65536) - math.ceil(0.1 * file_bytes)
    soft = 0.95 * hard
    threads = OWN_THREADS + numbers.get("innodb_thread_concurrency", 0)
    margin = FREE_PAGES * numbers.get("innodb_page_size", PAGE) * threads + 4096 + 0.05 * soft
    return max(0.0, soft - min(margin, 0.55 * soft))
