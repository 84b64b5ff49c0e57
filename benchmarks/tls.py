"""What TLS costs client and server: `python -m benchmarks.tls --dir DIR` writes it into docs/tls.md.

The same statements over TCP, without and with TLS, in turns, on this machine's server: CPU time of both sides for a
query, and for a login.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

import psutil

from benchmarks.database.programs.flatwater import EXPERIMENTS
from benchmarks.loopback import HOST, USER, let_in, tcp_settings
from benchmarks.noise import NoiseMeter
from benchmarks.options import Preset, command_line, measure, read_options, tell
from benchmarks.pairs import alternating, ratio
from benchmarks.tables import circumstances, interval, page_with, table
from flatwater import __version__
from flatwater._engine import Connection, EngineError, Run
from flatwater.engine_json import to_json
from flatwater.errors import FlatwaterError
from flatwater.experiment import cell_at, load
from flatwater.experiment.database.login import Login, Tcp, Tls
from flatwater.experiment.database.server import PASSWORD_VARIABLE
from flatwater.probe import describe_machine
from flatwater.runner.interrupt import watch_signals
from flatwater.runner.progress import start_reporter
from flatwater.runner.stack.database.real.dataset import load_dataset
from flatwater.runner.stack.stack import open_stack
from flatwater.server import Instance, find_server

MODULE = "benchmarks.tls"
PAGE = Path(__file__).parents[1] / "docs" / "tls.md"
#: The generated text is between these lines.
BEGIN, END = "<!-- measured -->", "<!-- end of what was measured -->"
PRESETS: tuple[Preset, ...] = (("rows", 100_000, 2_000), ("rounds", 12, 2), ("seconds", 3, 1), ("logins", 300, 60))
#: Enough to keep the server busy, too few to queue.
CONNECTIONS = 4
WORKS = ("point_select", "read_write")
#: Without TLS, and with the least of it that encrypts: what is looked at of a certificate costs at login only.
MODES = ("DISABLED", "REQUIRED")
PATIENCE_S = 60.0
SETTINGS = {
    "innodb_buffer_pool_size": "256M",
    "innodb_log_file_size": "256M",
    "innodb_flush_log_at_trx_commit": "2",
    "local_infile": "1",
    "ssl": "1",
}


@dataclass(frozen=True)
class Spent:
    """CPU time of both sides for a query or a login, µs; queries a second (0 for logins)."""

    client_us: float
    server_us: float
    per_s: float = 0.0


Found = dict[str, dict[str, list[Spent]]]


@dataclass(frozen=True)
class Server:
    """The server of the measurement, over TCP."""

    instance: Instance
    login: Login
    tls: str

    def cpu_s(self) -> float:
        """User and system time of its process."""
        times = psutil.Process(self.instance.pid).cpu_times()
        return float(times.user + times.system)


@contextmanager
def serve(folder: Path) -> Iterator[Server]:
    """A server with a certificate of its own. Errors: FlatwaterError."""
    cert, key = folder / "cert.pem", folder / "key.pem"
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    if shutil.which(make[0]) is None:
        raise FlatwaterError("no openssl on PATH", hint="the package openssl has it")
    subprocess.run([*make, "-keyout", str(key), "-out", str(cert)], check=True, capture_output=True)
    listening = tcp_settings()
    settings = SETTINGS | listening | {"ssl_cert": str(cert), "ssl_key": str(key)}
    with Instance(find_server(None), folder / "server", settings) as instance:
        instance.initialise()
        instance.start()
        let_in(instance)
        login = Login(Tcp((HOST, int(listening["port"]))), USER, instance.login().password, None)
        connection = Connection(to_json(replace(login, tls=Tls("REQUIRED"))))
        told = connection.tls or ""
        connection.close()
        yield Server(instance, login, told)
        instance.stop()


def main(arguments: Sequence[str]) -> int:
    """Measures, and writes the section of the page; the exit codes are those of the other benchmarks."""
    return measure(read, run, list(arguments))


def read(arguments: list[str]) -> argparse.Namespace:
    """The options. Errors: UserError, and argparse's own exit."""
    parser = argparse.ArgumentParser(prog=f"python -m {MODULE}", description=__doc__)
    parser.add_argument("--dir", type=Path, default=Path(), help="a directory on the storage to use [this one]")
    parser.add_argument("--quick", action="store_true", help="does everything work? prints the page")
    parser.add_argument("--out", type=Path, help=f"where the page goes [{PAGE} when all was measured]")
    parser.set_defaults(only="")
    for name, full, short in PRESETS:
        parser.add_argument(f"--{name}", type=type(full), metavar="N", help=f"[{full}; with --quick {short}]")
    return read_options(parser, arguments, PRESETS, [""], PAGE)


def run(options: argparse.Namespace) -> str:
    """The page with what was measured."""
    noise, found = NoiseMeter(), {work: {mode: list[Spent]() for mode in MODES} for work in (*WORKS, "login")}
    with tempfile.TemporaryDirectory(prefix="flatwater-bench-", dir=options.dir) as name, serve(Path(name)) as server:
        os.environ[PASSWORD_VARIABLE] = server.login.password
        tell(f"loading {options.rows:,} rows")
        _load(server, options.rows)
        for work in WORKS:
            for number, mode in alternating(MODES, options.rounds):
                found[work][mode].append(_queries(server, work, mode, options))
                tell(f"{work}, round {number + 1}, {mode}: {found[work][mode][-1]}")
        for _, mode in alternating(MODES, options.rounds):
            found["login"][mode].append(_logins(server, mode, options.logins))
        title, told = server.instance.binary.title, server.tls
    about = circumstances(
        command_line(MODULE, options, PRESETS),
        time.strftime("%Y-%m-%d %H:%M %Z"),
        [title, f"flatwater {__version__}", told],
        describe_machine(),
        {},
        "",
        noise.read(),
    )
    return page_with(PAGE, BEGIN, END, f"{about}\n\n{results(found, options)}")


def _changes(server: Server, mode: str, rows: int) -> list[str]:
    host, port = server.login.address.tcp  # type: ignore[union-attr]
    url = f"mysql://{quote(server.login.user)}@{host}:{port}/sbtest?ssl-mode={mode}"
    return [f"database.url={url}", f"workload.rows={rows}", f"workload.connections={CONNECTIONS}"]


def _load(server: Server, rows: int) -> None:
    changes = [*_changes(server, "DISABLED", rows), "database.load=true"]
    experiment = load(str(EXPERIMENTS / "oltp.toml"), changes, None)
    with watch_signals() as interrupt:
        load_dataset(experiment, experiment.server.login(), start_reporter(), interrupt)


def _queries(server: Server, work: str, mode: str, options: argparse.Namespace) -> Spent:
    """One run of the engine in this process; its first second, with all logins, is not counted."""
    changes = [*_changes(server, mode, options.rows), f"workload.mode={work}"]
    experiment = load(str(EXPERIMENTS / "oltp.toml"), changes, None)
    stack = open_stack(experiment, cell_at(experiment, 0))
    try:
        own = stack.workload.start(stack.workload.plan(seed=1))
        assert isinstance(own, Run), "the load is made here"
        try:
            own.next_interval(PATIENCE_S)
            before = (time.process_time(), server.cpu_s())
            counted, took_s = 0, 0.0
            for _ in range(options.seconds):
                found = own.next_interval(PATIENCE_S)
                if found is None:
                    raise FlatwaterError("the engine tells of no interval any more")
                counted += found["counters"]["queries"]
                took_s += found["end_s"] - found["start_s"]
            after = (time.process_time(), server.cpu_s())
        finally:
            own.stop()
            own.join(PATIENCE_S)
        if own.failure() is not None:
            raise FlatwaterError(f"the engine failed: {own.failure()}")
    except EngineError as error:
        raise FlatwaterError(f"the engine failed: {error}") from None
    finally:
        stack.release()
    client_us, server_us = (1e6 * (late - early) / counted for early, late in zip(before, after, strict=True))
    return Spent(client_us, server_us, counted / took_s)


def _logins(server: Server, mode: str, count: int) -> Spent:
    """Logins one after the other, none of which resumes the session of an earlier one."""
    login = to_json(server.login if mode == "DISABLED" else replace(server.login, tls=Tls("REQUIRED")))
    before = (time.process_time(), server.cpu_s())
    for _ in range(count):
        Connection(login).close()
    after = (time.process_time(), server.cpu_s())
    client_us, server_us = (1e6 * (late - early) / count for early, late in zip(before, after, strict=True))
    return Spent(client_us, server_us)


def results(found: Found, options: argparse.Namespace) -> str:
    """The tables, and how to read them."""
    head = ["CPU time, µs", "side", "without TLS", "with TLS", "with / without"]
    rows = []
    for work, by_mode in found.items():
        title = "a login" if work == "login" else f"a query of {work}"
        for side in ("client", "server", "both"):
            plain, encrypted = ([_side(one, side) for one in by_mode[mode]] for mode in MODES)
            medians = [f"{statistics.median(values):,.1f}" for values in (plain, encrypted)]
            rows.append([title, side, *medians, interval(ratio(encrypted, plain))])
    rates = []
    for work in WORKS:
        plain, encrypted = ([one.per_s for one in found[work][mode]] for mode in MODES)
        medians = [f"{statistics.median(values):,.0f}" for values in (plain, encrypted)]
        rates.append([work, *medians, interval(ratio(encrypted, plain))])
    how = (
        f"{options.rounds} rounds of {options.seconds} s each, without and with TLS in turns, {CONNECTIONS}\n"
        "connections over TCP on one machine; logins one by one, each with a whole handshake. Medians; in brackets\n"
        "the interval of the ratio."
    )
    head_rates = ["queries a second", "without TLS", "with TLS", "with / without"]
    return "\n\n".join((how, table(head, rows), table(head_rates, rates)))


def _side(spent: Spent, side: str) -> float:
    sides = {"client": spent.client_us, "server": spent.server_us}
    return sides.get(side, sum(sides.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
