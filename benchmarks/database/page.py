"""The generated page: benchmarks/database.md."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field

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
from flatwater.results.facts import MachineFacts, StorageFacts


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
    machine: MachineFacts
    storage: StorageFacts
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
flatwater starts the server on a new data directory, and stops it at the end. All programs take turns, and use the same
Unix socket or the same port of the loopback interface, and accounts with the same rights. The data fit into the
server's memory, and commits do not wait for the storage: this compares the programs, not the storage. A setting that is
not listed here has the server's default."""
LOADING_TEXT = """\
The time from an empty schema to tables with all rows, indexes and foreign keys, in turns ({rounds} each).
flatwater loads as `flatwater run` does with `database.load = true`, and its time includes the start of Python.
tpcc-mysql is one process of tpcc_load. Its tables are created as flatwater creates them: indexes and keys come after
the rows. tpcc_load needs a round trip for each row and would take minutes, so it loads fewer warehouses, and rows a
second are compared. The rows were counted afterwards."""
RATE_TEXT = """\
NOTPM is the number of New-Order transactions a minute; tpcc_start calls it TpmC. The client and the server share the
machine, so a client that uses less CPU time leaves more for the server. *Cores apart*: the server has one half of the
cores and the client the other half (taskset). There, the server gains nothing by what the client saves, and the ratio
is that of the waiting between two statements alone. *Busy neighbours*: a program for each core computes all the time,
and has the same priority."""
CPU_TEXT = """\
The user and system time of all threads. flatwater counts it during the measured time (`client_cpu_us_per_op` in
`flatwater run --json`), with its recorder and its probes. tpcc_start and sysbench do not report it, so the figure is
that of the whole process, minus that of a process that only starts, connects and ends. *Whole* is flatwater's CPU time,
counted in the same way. *Server* is the server's CPU time of the same run, from its /proc/PID/stat."""
CALLS_TEXT = """\
The system calls of the client, counted with `strace -f -c` in separate runs of 2 s. The calls of a run without work are
subtracted. The server counts the queries. strace slows the threads down, so a thread finds a reply ready more often
than without strace."""
CROWD_TEXT = """\
`flatwater run` of OLTP point_select. *held* means that the run ended without an error, that all connections were open
at the same time, and that none of them failed or was opened again."""
STRIP_TEXT = """\
{pairs} pairs of adjacent intervals ({interval_s:g} s) of one continuous run of the engine. In one of the two, the
probe samples the server once, at the start of the interval; `flatwater run` does so each second. In the other one,
it does not. The InnoDB counters that the probe enables are enabled in both. The CPU time of a sample is that of
flatwater, and that of the server's thread that answers."""
COMMANDS_TEXT = """\
The first command of each program. `SOCKET` and `PASSWORD` replace those of the server. flatwater reads the password
from FLATWATER_PASSWORD, and tpcc_load reads the socket from MYSQL_UNIX_PORT. The experiments are in
`benchmarks/database/`."""


def _head(where: Circumstances) -> str:
    setting = where.setting
    head = (
        "# flatwater beside tpcc-mysql and sysbench\n\n"
        "Generated by `python -m benchmarks.database`, which replaces this page. Do not edit it."
    )
    held = f"{setting.warehouses} warehouses, a table of {setting.rows:,} rows"
    told = circumstances(where.command, where.date, where.versions, where.machine, where.storage, held, where.noise)
    return f"{head}\n\n{told}"


def _how_to_read(where: Circumstances) -> str:
    rounds, loads, pairs = where.rounds, where.load_rounds, where.strip_pairs
    seconds = where.setting.seconds
    return f"""\
## How to read it

The programs take turns on the same tables, {rounds} x {seconds} s each, in alternating order (ABC CBA ABC), without a
warm-up, because servers, storage and neighbours drift more than programs differ. A ratio is flatwater's figure divided
by the other program's figure of the same round. The tables show the median of the ratios, and in brackets the order
statistics that contain the true median with {_sure(rounds)} confidence (loading, rounds: {loads}, {_sure(loads)}; the
strip, pairs: {pairs}, {_sure(pairs)}). Other figures are medians of the rounds. The median ratio decides between *met*
and *not met*. *undecided* means that the median misses the target, but the interval contains it.

*flatwater* sends a statement and waits for its reply, as the other programs do. *flatwater, pipeline* sends several
statements at once, if no later statement needs their replies (`workload.pipeline = true`)."""


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
            one.place.title,
            one.way.program.name,
            one.peer,
            f"{one.rate[0]:,.0f}",
            f"{one.rate[1]:,.0f}",
            *judged(one.rate_ratio, one.way.rate),
        ]
        for one in measured
    ]
    return table(
        [f"{_connections(measured)} connections", "over", "", "against", "ours", "theirs", "ratio", "target", ""], rows
    )


def _cpu(measured: Sequence[Measured]) -> str:
    rows = [
        [
            f"{one.work.title}, {one.work.counted}",
            one.place.title,
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
    head = [f"{_connections(measured)} connections", "over", "", "against", "ours", "theirs", "ratio", "target", ""]
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
