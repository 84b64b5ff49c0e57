"""The NBD server beside nbdkit: what the page says of what was measured."""

from __future__ import annotations

import os
from pathlib import Path

from benchmarks.cache import nbd


def test_a_row_says_which_server_is_faster() -> None:
    found = nbd.Found(nbd.ROWS[0])
    for ours, theirs in ((300.0, 200.0), (330.0, 220.0), (150.0, 100.0)):
        found.iops[0].append(ours)
        found.iops[1].append(theirs)
        found.cpu_us[0].append(5.0)
        found.cpu_us[1].append(10.0)
    line = next(line for line in nbd.section([found]).splitlines() if "from storage, 1 connection" in line)
    assert "1.500 [1.500, 1.500] | ≥ 1 | met" in line
    assert "0.500 [0.500, 0.500]" in line


def test_the_rows_have_titles_of_their_own() -> None:
    titles = [row.title for row in nbd.ROWS]
    assert len(set(titles)) == len(titles) == 9
    assert "random write to storage, 4 connections, depth 8" in titles


def test_settling_keeps_what_is_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "served"
    data = os.urandom(3 << 20)
    file.write_bytes(data)
    nbd.settle(file, warm=False)
    nbd.settle(file, warm=True)
    assert file.read_bytes() == data
