"""Parts of a server of the matrix on another storage: what it can place lies there, and it says why it cannot the rest.

The server is killed with the run, and must find all its parts again when the run is resumed.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from pydantic import JsonValue

from benchmarks.servers.bench import (
    MEASURED,
    PATIENCE_S,
    Bench,
    Table,
    error_of,
    require,
    require_gone,
    servers_on,
    tpcc,
)
from flatwater.errors import UserError
from flatwater.experiment.database.placed import ITEMS
from flatwater.experiment.database.settings import Setting
from flatwater.results import open_result
from flatwater.server import Placing, translate
from flatwater.server.placement.means import TABLES

#: The name of the other storage, and the table that is placed there.
_OTHER, _TABLE = "other", "stock"
#: Part -> the files of it that servers have open, by their names. Servers before 5.7 have temporary files without a
#: name, `ib` and six characters, which they delete at once.
_OPEN = {
    "redo_log": re.compile(r"ib_logfile\d+|#ib_redo\d+"),
    "undo_logs": re.compile(r"undo_?\d+"),
    "doublewrite": re.compile(r"#ib_.*\.dblwr|[ix]b_doublewrite"),
    "binary_log": re.compile(r"binlog\.\d+"),
    "temporary_files": re.compile(r"ibtmp1|temp_\d+\.ibt|ib[0-9a-zA-Z]{6} \(deleted\)"),
    "system_tablespace": re.compile(r"ibdata1"),
    TABLES: re.compile(rf"{_TABLE}\.ibd"),
}
#: The run of the step: killed in its midst.
_RUN: Table = {**tpcc(12.0), "check_consistency": True}
#: The run went on, and measured.
_WENT_ON = re.compile(r'(?s)"seam".*"phase":\s*"measure"')


def placed(bench: Bench) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What was placed and found there, and what this server cannot place. Errors: StepFailed."""
    other = bench.folder / _OTHER
    other.mkdir(exist_ok=True)
    settings: Mapping[str, Setting] = {"log_bin": True}
    if "innodb_undo_tablespaces" in bench.binary.options():
        settings = {**settings, "innodb_undo_tablespaces": 3}
    able: list[str] = []
    missing: list[str] = []
    for item in (*ITEMS, TABLES):
        reason = _why_not(bench, item, settings)
        if reason is None:
            able.append(item)
        else:
            missing.append(f"{_title(item)}: {reason}")
            _require_refused(bench, other, item, settings, reason)
    file, out = bench.write(_RUN, settings, _on(other, able))
    with bench.running("run", file, out=out) as run:
        run.until(MEASURED, "its third interval")
        _require_there(bench, other, able)
        run.end(signal.SIGKILL)
    require_gone(bench.storage)
    with bench.running("run", file, "--resume", out=out) as run:
        run.until(_WENT_ON, "the resumed run measured")
        _require_there(bench, other, able)
        code = run.process.wait(PATIENCE_S)
    require(code == 0, f"the resumed run ended with exit code {code}: {error_of(run.said)}")
    summary = open_result(out).cells[0].summary
    require(summary is not None and summary.errors == 0, "transactions ended with an error")
    broken = [one.number for one in summary.consistency if one.applies and one.holds is not True] if summary else []
    require(not broken, f"TPC-C condition {broken} of clause 3.3.2 does not hold")
    left = list(other.glob("flatwater-parts/run/*/"))
    require(not left, f"{len(left)} folders of parts are left on the other storage")
    return (f"{', '.join(map(_title, able))} there, also after kill -9",), tuple(missing)


def _title(item: str) -> str:
    return "a table" if item == TABLES else item.replace("_", " ")


def _on(other: Path, items: list[str]) -> Table:
    """The fields of a database with these parts on the other storage."""
    said: dict[str, JsonValue] = {item: _OTHER for item in items if item != TABLES}
    if TABLES in items:
        said[TABLES] = {_TABLE: _OTHER}
    return {"placement": said, "storages": {_OTHER: {"path": str(other)}}}


def _why_not(bench: Bench, item: str, settings: Mapping[str, Setting]) -> str | None:
    """Why the server cannot place the part; None if it says that it can."""
    placing = Placing({}, {_TABLE: _OTHER}) if item == TABLES else Placing({item: _OTHER})
    try:
        placing.require(bench.binary, translate(settings, bench.binary))
    except UserError as error:
        return error.what
    return None


def _require_refused(bench: Bench, other: Path, item: str, settings: Mapping[str, Setting], reason: str) -> None:
    """The run with the part there is refused with the reason, before anything is loaded. Errors: StepFailed."""
    file, out = bench.write(_RUN, settings, _on(other, [item]))
    told = bench.fails("run", file, "--out", out, code=2)
    require(reason in told and f"database.placement.{item}" in told, f"{item} is refused without its reason: {told}")


def _require_there(bench: Bench, other: Path, items: list[str]) -> None:
    """All open files of the placed parts lie on the other storage. Errors: StepFailed."""
    there = f"{other}/flatwater-parts/run/"
    files = _open_files(bench)
    for item in items:
        own = [file for file in files if _OPEN[item].fullmatch(Path(file).name)]
        require(own, f"{item}: the server has no such file open")
        astray = [file for file in own if not file.startswith(there)]
        require(not astray, f"{item} is not where it was placed: {', '.join(sorted(astray)[:2])}")


def _open_files(bench: Bench) -> set[str]:
    """The files that the server has open. One that was deleted ends with `(deleted)`."""
    found = set()
    for process in servers_on(bench.storage):
        for link in Path(f"/proc/{process.pid}/fd").iterdir():
            with suppress(OSError):  # it was closed meanwhile
                found.add(str(link.readlink()))
    return found
