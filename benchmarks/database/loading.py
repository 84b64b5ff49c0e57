"""Filling TPC-C's tables: flatwater's loader against tpcc_load, indexes and foreign keys included on both sides."""

from __future__ import annotations

import re
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.database.programs import FLATWATER, TPCC_MYSQL
from benchmarks.database.programs.flatwater import experiment_changes, experiment_file
from benchmarks.database.rows import TPCC
from benchmarks.database.server import TestedServer
from benchmarks.database.work import TPCC_SCHEMA, Setting, Work
from benchmarks.job import Finished, run_child
from benchmarks.pairs import Ratio, alternating, ratio
from flatwater._engine import Connection, EngineError
from flatwater.engine_json import to_json
from flatwater.errors import FlatwaterError

#: TPC-C's tables, those before that others refer to. A schema of ours also holds the loader's marks.
TABLES = ("warehouse", "district", "customer", "history", "item", "stock", "orders", "new_orders", "order_line")
#: Where tpcc_load's rows go, for as long as they are measured.
PEER_SCHEMA = "tpcc_load"
FILL = Path(__file__).with_name("fill.py")


@dataclass(frozen=True)
class Filled:
    """One load: rows, seconds, CPU seconds of the client and of the server."""

    rows: int
    wall_s: float
    client_cpu_s: float
    server_cpu_s: float

    @property
    def rows_per_s(self) -> float:
        """Rows a second."""
        return self.rows / self.wall_s

    @property
    def cpu_us(self) -> float:
        """CPU time of client and server for a row."""
        return (self.client_cpu_s + self.server_cpu_s) * 1e6 / self.rows


@dataclass(frozen=True)
class Loading:
    """Medians over the rounds, ours first; CPU times are us a row."""

    warehouses: tuple[int, int]
    rows: tuple[float, float]
    wall_s: tuple[float, float]
    rows_per_s: tuple[float, float]
    client_cpu_us: tuple[float, float]
    server_cpu_us: tuple[float, float]
    rate_ratio: Ratio
    cpu_ratio: Ratio


def fill(work: Work, setting: Setting, folder: Path) -> Finished:
    """Loads a work's data through flatwater, as a user would, with nothing measured."""
    changes = {**experiment_changes(work, setting), "database.load": "true"}
    words = [f"{field}={value}" for field, value in changes.items()]
    command = [sys.executable, str(FILL), str(experiment_file(work)), *words]
    return run_child(command, folder, FLATWATER.environment(setting.address))


def measure_loading(
    setting: Setting, server: TestedServer, peer_warehouses: int, rounds: int, tell: Callable[[str], None]
) -> Loading:
    """Loads in turns. flatwater's tables stay for the rows that come after.

    tpcc_load's tables are made as flatwater's are, and its indexes and foreign keys after the rows: its own files say
    the same, and both sides end with the same schema.
    """
    # Round 0 begins with ours, so there is a schema to copy.
    found: dict[bool, list[Filled]] = {True: [], False: []}
    for number, ours in alternating((True, False), rounds):
        if ours:
            server.query(f"DROP DATABASE IF EXISTS {TPCC_SCHEMA}")
        one = _ours(setting, server) if ours else _theirs(setting, server, peer_warehouses)
        found[ours].append(one)
        tell(
            f"load {number + 1}, {'flatwater' if ours else 'tpcc_load'}: {one.rows:,} rows in {one.wall_s:.1f} s, "
            f"{one.rows_per_s:,.0f} rows/s, CPU {one.cpu_us:.2f} us a row"
        )
        # The next one would lose its own rows otherwise.
        if not ours:
            server.query(f"DROP DATABASE {PEER_SCHEMA}")

    def both(figure: Callable[[Filled], float]) -> tuple[list[float], list[float]]:
        return [figure(one) for one in found[True]], [figure(one) for one in found[False]]

    def medians(figure: Callable[[Filled], float]) -> tuple[float, float]:
        ours, theirs = both(figure)
        return statistics.median(ours), statistics.median(theirs)

    return Loading(
        warehouses=(setting.warehouses, peer_warehouses),
        rows=medians(lambda one: one.rows),
        wall_s=medians(lambda one: one.wall_s),
        rows_per_s=medians(lambda one: one.rows_per_s),
        client_cpu_us=medians(lambda one: one.client_cpu_s * 1e6 / one.rows),
        server_cpu_us=medians(lambda one: one.server_cpu_s * 1e6 / one.rows),
        rate_ratio=ratio(*both(lambda one: one.rows_per_s)),
        cpu_ratio=ratio(*both(lambda one: one.cpu_us)),
    )


def _ours(setting: Setting, server: TestedServer) -> Filled:
    before_s = server.cpu_s()
    finished = fill(TPCC, setting, setting.folder)
    server_cpu_s = server.cpu_s() - before_s
    return Filled(_count(server, TPCC_SCHEMA), finished.wall_s, finished.cpu_s, server_cpu_s)


def _theirs(setting: Setting, server: TestedServer, warehouses: int) -> Filled:
    create, finish = [], []
    for table in TABLES:
        written = server.query(f"SHOW CREATE TABLE {TPCC_SCHEMA}.{table}")[0][1] or ""
        bare, later = split_table(written)
        create.append(bare)
        finish += later
    command = TPCC_MYSQL.load_command(setting.address, PEER_SCHEMA, warehouses)
    before_s, started = server.cpu_s(), time.monotonic()
    server.query(f"CREATE DATABASE {PEER_SCHEMA}")
    _run(server, create)
    finished = run_child(command, setting.folder, TPCC_MYSQL.environment(setting.address))
    # Keys of all tables before the first foreign key, each in a statement of its own, as tpcc-mysql's file has it.
    _run(server, sorted(finish, key=lambda statement: "FOREIGN KEY" in statement))
    wall_s, server_cpu_s = time.monotonic() - started, server.cpu_s() - before_s
    return Filled(_count(server, PEER_SCHEMA), wall_s, finished.cpu_s, server_cpu_s)


def split_table(written: str) -> tuple[str, list[str]]:
    """What SHOW CREATE TABLE wrote: the table with its primary key only, and statements that add the rest."""
    lines = [line.rstrip(",") for line in written.splitlines()]
    name = re.match(r"CREATE TABLE (`\w+`)", lines[0])
    if name is None:
        raise FlatwaterError(f"the server's SHOW CREATE TABLE is not understood: {lines[0]}")
    added = [line.strip() for line in lines[1:-1] if re.match(r"\s*(UNIQUE KEY|KEY|CONSTRAINT) ", line)]
    kept = [line for line in lines[1:-1] if line.strip() not in added]
    bare = "\n".join([lines[0], ",\n".join(kept), lines[-1]])
    return bare, [f"ALTER TABLE {name[1]} ADD {what}" for what in added]


def _run(server: TestedServer, statements: list[str]) -> None:
    """Runs statements in one session, without checks of foreign keys, as tpcc-mysql's files do."""
    try:
        connection = Connection(to_json(server.login(PEER_SCHEMA)))
        try:
            for statement in ("SET foreign_key_checks = 0, unique_checks = 0", *statements):
                connection.query(statement)
        finally:
            connection.close()
    except EngineError as error:
        raise FlatwaterError(f"the tables for tpcc_load cannot be made: {error}") from None


def _count(server: TestedServer, schema: str) -> int:
    """Rows that are really there."""
    return sum(int(server.query(f"SELECT COUNT(*) FROM {schema}.{table}")[0][0] or 0) for table in TABLES)
