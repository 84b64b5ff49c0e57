from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.database.calls import read_counts

from flatwater.errors import FlatwaterError

# From strace 6.1 -f -c of sysbench.
STRACE = """\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 29.34    2.019166          40     50089     12265 recvfrom
 27.18    1.870244          49     37912           sendto
 24.14    1.661282         135     12265           poll
  0.00    0.000000           0         1         1 access
------ ----------- ----------- --------- --------- ----------------
100.00    6.881124          67    100267     12534 total
"""


def test_calls_are_read_with_and_without_errors(tmp_path: Path) -> None:
    told = tmp_path / "strace.txt"
    told.write_text(STRACE)
    assert read_counts(told) == {"recvfrom": 50089, "sendto": 37912, "poll": 12265, "access": 1}


def test_an_empty_table_is_one_line(tmp_path: Path) -> None:
    told = tmp_path / "strace.txt"
    told.write_text("")
    with pytest.raises(FlatwaterError, match="not understood"):
        read_counts(told)
