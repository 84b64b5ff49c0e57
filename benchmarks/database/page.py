"""The generated page: benchmarks/database.md."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.database.calls import Calls
from benchmarks.database.compare import Measured
from benchmarks.database.crowd import Crowd
from benchmarks.database.loading import PEER_SCHEMA, Loading
from benchmarks.database.programs import TPCC_MYSQL, Program
from benchmarks.database.programs.flatwater import EXPERIMENTS
from benchmarks.database.rows import LOADING, LOADING_CPU, ROWS, STRIP
from benchmarks.database.strip import Strip
from benchmarks.database.work import Address, Setting
from benchmarks.noise import Noise
from benchmarks.pairs import confidence
from benchmarks.tables import circumstances, judged, loss, table
from flatwater.experiment import print_size


@dataclass
class Found:
    """What was measured, as far as it was; `skipped` says why something is missing, by its title."""

    loading: Loading | None = None
    measured: list[Measured] = field(default_factory=list)
    calls: list[Calls] = field(default_factory=list)
    crowd: Crowd | None = None
    strip: Strip | None = None
    skipped: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Circumstances:
    """What a figure is worth nothing without."""

    command: str
    date: str
    machine: dict[str, Any]
    storage: dict[str, Any]
    versions: list[str]
    noise: Noise
    setting: Setting
    my_cnf: str
    rounds: int
    load_rounds: int
    strip_pairs: int
    strip_interval_s: float


def page(where: Circumstances, found: Found) -> str:
    """The whole page. It holds no password and no folder."""
    parts = [_head(where), _how_to_read(where), f"## The server\n\n{SERVER_TEXT}\n\n{_indented(where.my_cnf)}"]
    if found.skipped:
        told = "\n".join(f"- {title}: {why}" for title, why in found.skipped.items())
        parts += ["## Not measured", told]
    if found.loading is not None:
        parts += ["## Loading TPC-C", LOADING_TEXT.format(rounds=where.load_rounds), _loading(found.loading)]
    if found.measured:
        parts += ["## Throughput", RATE_TEXT, _rates(found.measured)]
        parts += ["## CPU time, ms for 1000 transactions or queries", CPU_TEXT, _cpu(found.measured)]
    if found.calls:
        parts += ["## System calls a query", CALLS_TEXT, _calls(found.calls)]
    if found.crowd is not None:
        parts += ["## Many connections in one process", CROWD_TEXT, _crowd(found.crowd)]
    if found.strip is not None:
        text = STRIP_TEXT.format(pairs=where.strip_pairs, interval_s=where.strip_interval_s)
        parts += ["## What the strip of the database costs", text, _strip(found.strip)]
    if found.measured:
        parts += ["## The commands", COMMANDS_TEXT, _commands(where.setting, found)]
    return "\n\n".join(parts) + "\n"


SERVER_TEXT = """\
Started by flatwater on a new data directory, and stopped at the end. All programs reach it through the same unix
socket, with the same account, in turns. The data fit into its memory and commits do not wait for the storage: the
programs are compared, not the storage. What is not named here is the server's default."""
LOADING_TEXT = """\
From no tables to tables with all rows, indexes and foreign keys, in turns ({rounds} each). flatwater as `flatwater run`
loads with `database.load = true`, with the start of Python; tpcc-mysql as one process of tpcc_load, on tables made as
flatwater's are, indexes and keys after the rows. tpcc_load sends a row a round trip and would take minutes:
it gets fewer warehouses, and rows a second are compared. Rows were counted afterwards."""
RATE_TEXT = """\
NOTPM are New-Order transactions a minute; tpcc_start calls them TpmC. Clients and server share the machine, so a client
that takes less CPU time leaves more to the server."""
CPU_TEXT = """\
User and system time of all threads. flatwater's is that of the measured time (`client_cpu_us_per_op` in `flatwater run
--json`), its recorder and probes included. tpcc_start and sysbench tell none, so theirs is the whole process's less
that of one that starts, connects and ends. *Whole* is flatwater's counted in that way too. *Server* is the server's
meanwhile, from its /proc/PID/stat."""
CALLS_TEXT = """\
Of the client only, counted with `strace -f -c` in runs of 2 s that stand apart from the others; those of a run with
nothing to do are taken off. Queries are those that the server counted. A thread that strace slows down finds replies
waiting more often than one that runs free."""
CROWD_TEXT = """\
`flatwater run` of OLTP point_select. It *held* if it ended well with all connections open at once and none of them
failed or was made again."""
STRIP_TEXT = """\
{pairs} pairs of neighbouring intervals ({interval_s:g} s) of one run of the engine that does not stop: with the probe
of the server asked once when the interval begins, as each second of a `flatwater run`, and without. InnoDB's counters
that the probe switches on are on throughout. The CPU times of a sample are those of flatwater, and of the server's
thread that answers."""
COMMANDS_TEXT = """\
The first of each program, as it was run; `SOCKET` and `PASSWORD` stand for the server's. flatwater finds the password
in FLATWATER_PASSWORD, tpcc_load the socket in MYSQL_UNIX_PORT. The experiments are in `benchmarks/database/`."""


def _head(where: Circumstances) -> str:
    setting = where.setting
    head = (
        "# flatwater beside tpcc-mysql and sysbench\n\n"
        "Generated by `python -m benchmarks.database`, which replaces this page: edit nothing here."
    )
    held = f"{setting.warehouses} warehouses, a table of {setting.rows:,} rows"
    told = circumstances(where.command, where.date, where.versions, where.machine, where.storage, held, where.noise)
    return f"{head}\n\n{told}"


def _how_to_read(where: Circumstances) -> str:
    rounds, loads, pairs = where.rounds, where.load_rounds, where.strip_pairs
    seconds = where.setting.seconds
    return f"""\
## How to read it

Programs take turns on the same tables, {rounds} x {seconds} s each, in alternating order (ABC CBA ABC), with no
warm-up on any side: servers, storage and neighbours drift more than programs differ. A ratio is ours over theirs, round
by round: the median, and in brackets the order statistics that hold the true median with {_sure(rounds)} confidence
(loading, rounds: {loads}, {_sure(loads)}; the strip, pairs: {pairs}, {_sure(pairs)}). Other figures are medians of the
rounds. *met* and *not met* go by the median ratio; *undecided*: it misses the target, but the interval reaches it.

*flatwater* sends a statement and waits for its reply, as the others do. *flatwater, pipeline* sends the statements
whose replies no later one needs together (`workload.pipeline = true`)."""


def _sure(rounds: int) -> str:
    return f"{100 * confidence(rounds):.0f} %"


def _loading(found: Loading) -> str:
    def both(figures: tuple[float, float], form: str) -> list[str]:
        return [format(figure, form) for figure in figures]

    summed = (
        found.client_cpu_us[0] + found.server_cpu_us[0],
        found.client_cpu_us[1] + found.server_cpu_us[1],
    )
    shown = ["", "", ""]
    rows = [
        ["warehouses", *both(found.warehouses, "d"), *shown],
        ["rows", *both(found.rows, ",.0f"), *shown],
        ["seconds", *both(found.wall_s, ".1f"), *shown],
        ["rows a second", *both(found.rows_per_s, ",.0f"), *judged(found.rate_ratio, LOADING)],
        ["CPU µs a row, client", *both(found.client_cpu_us, ".2f"), *shown],
        ["CPU µs a row, server", *both(found.server_cpu_us, ".2f"), *shown],
        ["CPU µs a row, both", *both(summed, ".2f"), *judged(found.cpu_ratio, LOADING_CPU)],
    ]
    return table(["", "flatwater", "tpcc_load", "ratio", "target", ""], rows)


def _rates(measured: Sequence[Measured]) -> str:
    rows = [
        [
            f"{one.work.title}, {one.work.unit}",
            one.way.program.name,
            one.peer,
            f"{one.rate[0]:,.0f}",
            f"{one.rate[1]:,.0f}",
            *judged(one.rate_ratio, one.way.rate),
        ]
        for one in measured
    ]
    return table(
        [f"{_connections(measured)} connections", "", "against", "ours", "theirs", "ratio", "target", ""], rows
    )


def _cpu(measured: Sequence[Measured]) -> str:
    rows = [
        [
            f"{one.work.title}, {one.work.counted}",
            one.way.program.name,
            one.peer,
            f"{one.cpu_ms[0]:.1f}",
            f"{one.cpu_ms[1]:.1f}",
            *judged(one.cpu_ratio, one.way.cpu),
            f"{one.whole_cpu_ms[0]:.1f}, {one.whole_ratio.median:.3f}",
            f"{one.server_cpu_ms[0]:.1f} / {one.server_cpu_ms[1]:.1f}",
        ]
        for one in measured
    ]
    head = [f"{_connections(measured)} connections", "", "against", "ours", "theirs", "ratio", "target", ""]
    return table([*head, "whole, ratio", "server, ours / theirs"], rows)


def _connections(measured: Sequence[Measured]) -> int:
    return measured[0].work.connections


def _calls(calls: Sequence[Calls]) -> str:
    rows = [
        [
            one.work.title,
            one.program,
            f"{one.per_query:.2f}",
            ", ".join(f"{name} {count:.2f}" for name, count in one.named),
        ]
        for one in calls
    ]
    return table(["", "program", "calls a query", "the most frequent"], rows)


def _crowd(found: Crowd) -> str:
    rows = [
        ["held", "yes" if found.held else "**no**"],
        ["most sessions at once, by the server", f"{found.connected_max:,}"],
        ["errors", f"{found.errors:,}"],
        ["queries/s", f"{found.queries_per_s:,.0f}"],
        ["client CPU, µs a query", f"{found.cpu_us:.1f}"],
        ["memory of flatwater at most", print_size(found.rss_max_bytes)],
    ]
    return table([f"{found.connections:,} connections", ""], rows)


def _strip(found: Strip) -> str:
    rows = [
        [
            found.work.title,
            f"{found.queries_per_s[0]:,.0f} / {found.queries_per_s[1]:,.0f}",
            f"{found.client_cpu_ms:.2f} + {found.server_cpu_ms:.2f}",
            *loss(found.ratio, STRIP),
        ]
    ]
    head = [
        f"{found.work.connections} connections",
        "queries/s, with / without",
        "CPU ms a sample, client + server",
        "loss",
        "target",
        "",
    ]
    return table(head, rows)


def _commands(setting: Setting, found: Found) -> str:
    """One command a program, for the first work that it took part in."""
    told = []
    if found.loading is not None:
        words = TPCC_MYSQL.load_command(setting.address, PEER_SCHEMA, found.loading.warehouses[1])
        told.append(("tpcc-mysql (loading)", words))
    seen: set[str] = set()
    for row in ROWS:
        programs: tuple[Program, ...] = (*(way.program for way in row.ways), row.peer)
        for program in programs:
            if program.name not in seen and any(one.work == row.work for one in found.measured):
                seen.add(program.name)
                told.append((f"{program.name} ({row.work.title})", program.command(row.work, setting, 1)))
    return "\n\n".join(f"{title}:\n\n{_indented(_said(words, setting.address))}" for title, words in told)


def _said(words: Sequence[str], address: Address) -> str:
    """A command line without what is secret or of one machine."""
    first = "flatwater" if words[0].endswith("/flatwater") else words[0]
    text = shlex.join([first, *words[1:]]).replace(f"{EXPERIMENTS}/", "benchmarks/database/")
    return text.replace(address.password, "PASSWORD").replace(address.socket, "SOCKET")


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())
