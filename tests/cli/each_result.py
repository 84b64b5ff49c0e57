"""A result of each kind that there is: what a verb is given when somebody gives it a folder.

`KINDS` is the list; a new kind of workload, layer or origin belongs here, and every verb that writes a document is then
tried on it (test_documents.py).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from flatwater.cli import make_app

sys.path.append(str(Path(__file__).parents[1] / "report"))
sys.path.append(str(Path(__file__).parents[1] / "what_if"))
import recorded
import synthetic

_TESTS = Path(__file__).parents[1]
#: What a name, a title or a tag may hold that must never become markup, or reach a terminal.
HOSTILE = "<img src=x onerror=alert(7)> | `a` \x1b[31m \u202e & \"'"
_CARD = '[storage]\nkind = "ssd"\ndevice = "intel-910-2x200"\ncapacity_scale = 0.02\n'
_FILEIO = '[workload]\nkind = "fileio"\nmode = "rndrw"\nthreads = 4\nwarmup_s = 1\nduration_s = 12\n'
_SERVER = """\
[workload]
kind = "{workload}"
{load}
connections = 4
warmup_s = 1
duration_s = 12
[database]
kind = "innodb-model"
[database.settings]
innodb_buffer_pool_size = "64M"
innodb_log_file_size = "8M"
"""
_TPCC = _SERVER.format(workload="tpcc", load="warehouses = 1") + _CARD
_CACHE = """\
[cache]
kind = "flash"
mode = "write-back"
size = "64MiB"
[cache.storage]
kind = "ssd"
device = "fusion-io-iodrive-160-slc"
capacity_scale = 0.03
[storage]
kind = "raid"
device = "raid10-8"
capacity_scale = 0.05
size = "256MiB"
"""
_IOLOG = "fio version 3 iolog\n0 /dev/sdb add\n0 /dev/sdb open\n{}20000 /dev/sdb close\n"


def _run(text: str) -> Callable[[Path], None]:
    """A run of an experiment, whose exit code is not looked at: a run that fails leaves a result, too."""

    def make(out: Path) -> None:
        file = out.parent / f"{out.name}.toml"
        file.write_text(text.replace("FOLDER", str(out.parent)))
        CliRunner().invoke(make_app(), ["run", str(file), "--out", str(out)])

    return make


def _replay(out: Path) -> None:
    lines = "".join(f"{at * 10} /dev/sdb {'write' if at % 3 else 'read'} {at * 8192} 8192\n" for at in range(2000))
    (out.parent / "load.iolog").write_text(_IOLOG.format(lines))
    _run(f'[workload]\nkind = "replay"\ntrace = "FOLDER/load.iolog"\nduration_s = 12\n{_CARD}')(out)


def _imported(sample: str) -> Callable[[Path], None]:
    def make(out: Path) -> None:
        given = _TESTS / "results/imports" / sample
        CliRunner().invoke(make_app(), ["import", str(given), "--out", str(out)])

    return make


def _older(version: int, *later: str) -> Callable[[Path], None]:
    """A result as an older flatwater left it: without what it did not know."""

    def make(out: Path) -> None:
        _run(_TPCC)(out)
        for name in ("flatwater.json", "summary.json"):
            told: dict[str, Any] = json.loads((out / name).read_text())
            told["schema_version"] = version
            for cell in told["cells"] if name == "summary.json" else ():
                cell["schema_version"] = version
                for field in later:
                    cell.pop(field)
            (out / name).write_text(json.dumps(told))

    return make


def _interrupted_sweep(out: Path) -> None:
    """Two of three cells are over; of the third only a journal is there."""
    synthetic.unfinished(out)


#: How each is made, at a path that is not there yet.
KINDS: dict[str, Callable[[Path], object]] = {
    "fileio, modelled": _run(_FILEIO + _CARD),
    "fileio, a real file": _run(
        '[workload]\nkind = "fileio"\nmode = "rndrw"\nengine = "psync"\nduration_s = 1.5\n'
        '[record]\ninterval_s = 0.1\n[storage]\nkind = "file"\npath = "FOLDER"\nsize = "4MiB"\n'
    ),
    "tpcc, modelled": _run(_TPCC),
    "tpcc, as a real server records it": recorded.recorded,
    "a server that crashed": lambda out: synthetic.crashed(out, instances=4),
    "oltp, modelled": _run(_SERVER.format(workload="oltp", load='mode = "read_write"\nrows = 10000') + _CARD),
    "a replayed trace": _replay,
    "a flash cache, modelled": _run(_FILEIO + _CACHE),
    "memory": _run(_FILEIO + '[storage]\nkind = "memory"\ndevice = "violin-memory-appliance"\nsize = "64MiB"\n'),
    "a sweep with repeats": _run(f'repeat = 2\n{_FILEIO}{_CARD}[sweep]\n"workload.threads" = [1, 8]\n'),
    "cells with hostile names": _run(
        f"title = {json.dumps(HOSTILE)}\nabout = {json.dumps(HOSTILE)}\n{_FILEIO}{_CARD}"
        f'[sweep]\n"workload.threads" = [1, 8]\n[report]\nnames = [{json.dumps(HOSTILE)}, "eight"]\n'
    ),
    "too short": _run(_FILEIO.replace("duration_s = 12", "duration_s = 2") + _CARD),
    "no request": _run(_FILEIO.replace("duration_s = 12", "duration_s = 12\nrate_per_s = 0.001") + _CARD),
    "limits that fail": _run(f"{_FILEIO}{_CARD}[thresholds]\nmean_min = 1e9\ncost_max = 1e-6\nlife_min_years = 900\n"),
    "failed before it measured": _run(f'{_FILEIO}[storage]\nkind = "file"\npath = "FOLDER/nosuch"\nsize = "4MiB"\n'),
    "interrupted": _interrupted_sweep,
    "a sweep of servers": synthetic.database_sweep,
    "beside what was published": synthetic.single,
    "of schema 1": _older(1, "bound", "thresholds", "health", "transition", "consistency", "counters", "servers"),
    "of schema 3": _older(3, "bound", "thresholds", "health"),
    "of a newer schema": _older(99),
    "fio": _imported("fio_2.json"),
    "fio's logs": _imported("fio_logs/avg_iops.1.log"),
    "fio's sweep": _imported("fio_sweep.json"),
    "sysbench": _imported("sysbench_oltp.txt"),
    "sysbench's totals": _imported("sysbench_totals.txt"),
    "tpcc-mysql": _imported("tpcc.txt"),
}
