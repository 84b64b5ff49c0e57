"""A server that stalls for half a minute, in every format: its line is never called flat.

Some programs print nothing meanwhile and then one reading of all that time; of others, the readings are missing.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from flatwater.analysis import analyse
from flatwater.results import CellSummary
from flatwater.results.importers import FORMATS, Options, keep, read_folder
from flatwater.results.importers.samplers import SAMPLERS

sys.path.insert(0, str(Path(__file__).parent))
from sampled import (
    EPOCH,
    at,
    counters,
    dstat_csv,
    hammerdb_counter,
    iostat,
    mysqladmin,
    sysbench,
    sysbench_csv,
    sysstat_json,
)
from test_import_spans import fio_log, fio_status, tpcc

N, FIRST, LAST = 400, 200, 230
ISO = "%Y-%m-%dT%H:%M:%S+0000"
Cut = Callable[[str], str]


def lines(begins: Callable[[int], str]) -> Cut:
    """Without the lines of the seconds of the stall, which begin so."""
    gone = tuple(begins(second) for second in range(FIRST, LAST))
    return lambda text: "\n".join(line for line in text.split("\n") if not line.startswith(gone))


def blocks(divider: str, begin: int = 0) -> Cut:
    """Without the parts of a text that belong to the stall. `begin`: how many parts lie before the first second."""

    def cut(text: str) -> str:
        parts = text.split(divider)
        return divider.join(parts[: FIRST + begin] + parts[LAST + begin :])

    return cut


def times(form: str) -> Callable[[int], str]:
    return lambda second: at(second, form)


def of_counter(text: str) -> str:
    gone = [at(second, "%a %b %d %H:%M:%S") for second in range(FIRST, LAST)]
    return "\n".join(line for line in text.split("\n") if not any(one in line for one in gone))


#: Format -> the name of its file, a healthy one, and how it loses the readings of the stall. None: it has no line.
STALLED: dict[str, tuple[str, str, Cut] | None] = {
    "sysbench": ("r.txt", sysbench(N), lines(lambda second: f"[ {second}s ]")),
    "sysbench, CSV": ("r.csv", sysbench_csv(N), lines(lambda second: f"{second},4,")),
    "tpcc": ("r.txt", tpcc(N), lines(lambda second: f"{second:4}, trx")),
    "fio-json": ("r.json", fio_status(N), blocks('{\n "fio version"', 1)),
    "fio-log": ("r_iops.1.log", fio_log(N), lines(lambda second: f"{second * 1000}, ")),
    "hammerdb": None,
    "hammerdb-counter": ("hdbtcount.log", hammerdb_counter(N), of_counter),
    "counters": ("c.csv", counters(N), lines(times("%Y-%m-%d %H:%M:%S"))),
    "mysqladmin": ("m.txt", mysqladmin(N), blocks("+----------+-----+\n| Variable_name", 1)),
    "iostat": ("i.txt", iostat(N, stamped=True, form=ISO), blocks("\n\n\n", 1)),
    "sysstat-json": ("s.json", sysstat_json(N), blocks('{\n      "timestamp"', 1)),
    "dstat": ("d.csv", dstat_csv(N), lines(lambda second: f"{EPOCH + second}.125")),
    "mpstat": None,
    "vmstat": None,
}


def judged(place: Path, name: str, text: str) -> CellSummary:
    place.mkdir()
    (place / name).write_text(text)
    result = keep(read_folder([place], FORMATS, Options()).cells, place / "result", "x", "", analyse)
    (cell,) = result.cells
    assert cell.summary is not None
    return cell.summary


def test_every_format_is_tried() -> None:
    known = {one.NAME for one in (*FORMATS, *SAMPLERS)}
    assert known <= set(STALLED), "give the new format a stall"


@pytest.mark.parametrize("form", [form for form, made in STALLED.items() if made is not None])
def test_a_stall_is_never_flat(tmp_path: Path, form: str) -> None:
    name, text, cut = STALLED[form] or ("", "", str)
    assert judged(tmp_path / "healthy", name, text).verdict == "flat"
    stalled = cut(text)
    assert len(stalled) < len(text)
    summary = judged(tmp_path / "stalled", name, stalled)
    assert summary.verdict != "flat"
    if summary.verdict is None:
        assert summary.verdict_text.startswith(f"No verdict: {name}:"), "with its place"


def test_a_stall_until_the_end_is_never_flat(tmp_path: Path) -> None:
    text = sysbench(N).replace(f"{N}.0000s", f"{N + 30}.0000s")
    summary = judged(tmp_path / "end", "r.txt", text)
    assert summary.verdict is None
    assert summary.verdict_text.startswith(f"No verdict: the run took {N + 30} s, and 30 s of it are before its first")


def test_a_server_that_was_restarted_is_never_flat(tmp_path: Path) -> None:
    """How long it was away is not known: Uptime begins with its start."""
    summary = judged(
        tmp_path / "restarted", "m.txt", mysqladmin(N) + mysqladmin(N).replace("| Uptime | 10", "| Uptime | ")
    )
    assert summary.verdict is None
    assert summary.verdict_text.startswith("No verdict: m.txt: the server was restarted before reading 402")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("hdbtcount.log", re.sub(r" @ .*", "", hammerdb_counter(N).partition("\n")[2])),
        ("i.txt", iostat(N)),
        ("s.json", re.sub(r'"timestamp": "[^"]*",', "", sysstat_json(N))),
        ("d.csv", re.sub(rf"^({EPOCH // 10**6}[\d.]*|\"epoch\"|\"system\"),", "", dstat_csv(N), flags=re.MULTILINE)),
    ],
)
def test_a_line_without_times_is_never_flat(tmp_path: Path, name: str, text: str) -> None:
    """A reading that came 30 s late, or 30 that are missing, look as any others."""
    summary = judged(tmp_path / "untimed", name, text)
    assert summary.verdict is None
    assert summary.verdict_text.startswith(f"No verdict: {name}: its lines have no times, and a stall would not show")
