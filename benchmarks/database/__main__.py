"""`python -m benchmarks.database [--dir DIR] [--quick] [--only WORD] [--rounds N] ...`."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

from benchmarks.database import calls, crowd, place
from benchmarks.database.calls import count_calls
from benchmarks.database.compare import compare
from benchmarks.database.crowd import measure_crowd
from benchmarks.database.loading import fill, measure_loading
from benchmarks.database.page import Circumstances, Found, page
from benchmarks.database.programs import PROGRAMS, TPCC_MYSQL
from benchmarks.database.rows import READ_WRITE, ROWS, TPCC
from benchmarks.database.server import TestedServer
from benchmarks.database.strip import measure_strip
from benchmarks.database.work import USUAL, Setting, Work
from benchmarks.noise import NoiseMeter
from benchmarks.options import Preset, add_options, command_line, measure, read_options, tell
from flatwater.errors import FlatwaterError
from flatwater.probe import describe_machine, describe_storage

PAGE = Path(__file__).parents[1] / "database.md"
#: Rows of `--only` that are no comparison with a peer at the same work.
LOADING, CALLS, CROWD, STRIP = "load", "system calls", "many connections", "strip"

P = ParamSpec("P")
T = TypeVar("T")


def run(options: argparse.Namespace) -> str:
    """Everything, in order; the page that says what came out."""
    found = Found()
    noise = NoiseMeter()
    with tempfile.TemporaryDirectory(prefix="flatwater-bench-", dir=options.dir) as name:
        folder = Path(name).absolute()
        tell(f"making a server in {folder}")
        with TestedServer(folder, quick=options.quick) as server:
            setting = Setting(folder, server.address(), options.warehouses, options.rows, options.seconds)
            _measure(options, setting, server, found)
            title, my_cnf = server.title, server.my_cnf()
        storage = describe_storage(folder)
    where = Circumstances(
        command=command_line("benchmarks.database", options, PRESETS),
        date=time.strftime("%Y-%m-%d %H:%M %Z"),
        machine=describe_machine(),
        storage=storage,
        versions=[title, *dict.fromkeys(one.version() for one in PROGRAMS if one.missing() is None)],
        # After the server's end: the time of children counts when they are waited for.
        noise=noise.read(),
        setting=setting,
        my_cnf=my_cnf,
        rounds=options.rounds,
        load_rounds=options.load_rounds,
        strip_pairs=options.strip_pairs,
        strip_interval_s=options.strip_interval_s,
    )
    return page(where, found)


def _measure(options: argparse.Namespace, setting: Setting, server: TestedServer, found: Found) -> None:
    """Fills `found`; what is missing here, or is not allowed, is told there with its reason."""
    without_tpcc = TPCC_MYSQL.missing()
    if options.only in LOADING:
        if without_tpcc is None:
            how_much = (options.peer_warehouses, options.load_rounds)
            found.loading = _try(found, LOADING, measure_loading, setting, server, *how_much, tell)
        else:
            found.skipped[LOADING] = without_tpcc
    ready: set[str] = {TPCC.schema} if found.loading is not None else set()

    def prepare(work: Work) -> None:
        if work.schema not in ready:
            tell(f"loading for {work.title}")
            fill(work, setting, setting.folder)
            ready.add(work.schema)

    for row in ROWS:
        why = row.peer.missing() or place.missing(row.place)
        if options.only in row.title and why is None:
            prepare(row.work)
            found.measured += _try(found, row.title, compare, row, setting, server, options.rounds, tell) or []
        elif options.only in row.title:
            found.skipped[row.title] = why or ""
    if options.only in CALLS:
        _count_calls(setting, server, found, prepare)
    if options.only in CROWD:
        why = crowd.missing(options.connections)
        if why is None:
            prepare(READ_WRITE)
            found.crowd = _try(found, CROWD, measure_crowd, setting, server, options.connections, tell)
        else:
            found.skipped[f"{options.connections:,} connections"] = why
    if options.only in STRIP:
        prepare(READ_WRITE)
        pairs = (options.strip_pairs, options.strip_interval_s)
        found.strip = _try(found, STRIP, measure_strip, READ_WRITE, setting, server, *pairs, tell)


def _count_calls(setting: Setting, server: TestedServer, found: Found, prepare: Callable[[Work], None]) -> None:
    why = calls.missing()
    if why is not None:
        found.skipped[CALLS] = why
        return
    for row in (row for row in ROWS if row.place == USUAL):
        for program in (*(way.program for way in row.ways), row.peer):
            if program.missing() is not None:
                continue
            prepare(row.work)
            title = f"{CALLS}, {row.work.title}, {program.name}"
            counted = _try(found, title, count_calls, program, row.work, setting, server, tell)
            if counted is not None:
                found.calls.append(counted)


def _try(found: Found, title: str, measured: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T | None:
    """What was measured; None when it failed: the page tells why, and the other rows are worth having."""
    try:
        return measured(*arguments, **named)
    except FlatwaterError as error:
        tell(f"{title}: {error}")
        found.skipped[title] = str(error)
        return None


#: (option, full, quick). Full takes eleven minutes, quick about two. Six rounds are the fewest whose least and greatest
#: ratio enclose the median with 95 % confidence. tpcc_load gets fewer warehouses, because it would take minutes.
PRESETS: tuple[Preset, ...] = (
    ("rounds", 6, 1),
    ("seconds", 5, 1),
    ("load_rounds", 2, 1),
    ("warehouses", 10, 1),
    ("peer_warehouses", 2, 1),
    ("rows", 1_000_000, 100_000),
    ("connections", 10_000, 500),
    ("strip_pairs", 30, 4),
    ("strip_interval_s", 1.0, 0.25),
)


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.database",
        description="flatwater beside tpcc-mysql and sysbench, on one server. Writes benchmarks/database.md.",
        epilog="tpcc_load and tpcc_start are used when they are on the PATH. Numbers need a quiet machine.",
    )
    add_options(parser, PRESETS, "benchmarks/database.md", "About two minutes")
    titles = [LOADING, *(row.title for row in ROWS), CALLS, CROWD, STRIP]
    return read_options(parser, arguments, PRESETS, titles, PAGE)


if __name__ == "__main__":
    sys.exit(measure(_options, run, sys.argv[1:]))
