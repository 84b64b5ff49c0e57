"""Servers of the matrix that flatwater did not start: they have a load and are observed by their url, while they go
away and come back, and while their replication breaks.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import quote

import tomli_w

from benchmarks.servers.bench import Bench, free_port, oltp, require
from flatwater.analysis.noise import OBSERVER_PCT_MAX
from flatwater.experiment.database.login import Socket
from flatwater.results import open_result
from flatwater.server import Binary, Instance

_SMALL: Mapping[str, str] = {"innodb_buffer_pool_size": "32M"}
_SCHEMA = "watched"
#: Seconds for which the cost of observing is counted.
_COUNTED_S = 20
#: The load of the step keeps all processors busy, and others may be at work: caches are cold at each look then.
_BUSY_TIMES = 2.0
#: Longer than the step takes on any machine: it is ended by a signal.
ENDLESS_S = 3600
INTERVALS = re.compile(r'(?s)("metrics".*){3}')
#: Words in the names of variables that tell the time or what was done last.
_MOVING = ("timestamp", "gtid", "pseudo_", "rand_seed", "last_insert", "identity", "error_count", "warning_count")
#: Statements of replication before and since MySQL 8.4.
_REPLICATION_WORDS = {"CHANGE MASTER": "CHANGE REPLICATION SOURCE", "MASTER_": "SOURCE_", "SLAVE": "REPLICA"}


def outages(bench: Bench) -> tuple[str, ...]:
    """A load and an observation of one server: nothing of it is changed; a kill and a restart are told."""
    with Instance(bench.binary, bench.folder / "watched", dict(_SMALL)) as instance:
        instance.initialise()
        instance.start()
        instance.query(f"CREATE DATABASE {_SCHEMA}")
        bench.call("run", _load(bench, instance, 1.0, load=True), "--out", bench.folder / "watched-loaded")
        file = _load(bench, instance, ENDLESS_S)
        with bench.running("run", file, out=bench.folder / "watched-load") as load:
            load.until(INTERVALS, "the third interval of the load")
            before, out = instance.variables(), bench.folder / "watched-observed"
            bench.call("observe", url_of(instance), "--for", f"{_COUNTED_S}s", "--out", out)
            require(settled(instance.variables()) == settled(before), "observing has changed variables")
            summary = open_result(out).cells[0].summary
            require(summary is not None and summary.operations, "what its clients did was not seen")
            assert summary is not None
            cost = require_cheap({name: one.mean for name, one in summary.metrics.items()}, summary.warnings)
            with bench.running("observe", url_of(instance), out=bench.folder / "watched-outage") as watching:
                watching.until(INTERVALS, "the third interval of the observation")
                instance.kill()
                for one in (load, watching):
                    one.until(re.compile(r'"fault"[^\n]*does not answer'), "word of the kill")
                instance.start()
                for one in (load, watching):
                    one.until(re.compile(r'"recovered"[^\n]*started anew'), "word of the restart")
                require(watching.end(signal.SIGINT) == 0, "the observation did not end well")
            require(load.end(signal.SIGINT) == 130, "the load did not end when it was interrupted")
    return (f"observed, for {cost}; a kill and the restart are told by load and observation",)


def require_cheap(means: Mapping[str, float | None], warnings: Sequence[str]) -> str:
    """What observing cost, in words. Errors: StepFailed if it was not cheap, or if a result does not say so."""
    here = means.get("workload.observer_cpu_pct")
    require(here is not None, "what the observing cost here was not recorded")
    there = means.get("workload.observer_server_cpu_pct")
    both = (here or 0.0) + (there or 0.0)
    told = f"{here:.2g} % of a core here" + (f" and {there:.2g} % in the server" if there is not None else "")
    limit = _BUSY_TIMES * OBSERVER_PCT_MAX
    require(both <= limit, f"observing cost {told}, more than {limit} % together")
    says = any(line.startswith("observing took") for line in warnings)
    require(says == (both > OBSERVER_PCT_MAX), f"observing cost {told}, and the result says: {warnings}")
    return told


def replication(bench: Bench) -> tuple[str, ...]:
    """A replica is observed while its applier stops at a row that is there already."""
    with ExitStack() as stack:
        source, replica = (_of_pair(bench, number, stack) for number in (1, 2))
        port = source.settings["port"]
        for instance in (source, replica):
            instance.query("CREATE USER replica@'127.0.0.1'")
            instance.query("GRANT REPLICATION SLAVE ON *.* TO replica@'127.0.0.1'")
            instance.query(f"CREATE DATABASE {_SCHEMA}")
            instance.query(f"CREATE TABLE {_SCHEMA}.t (id INT PRIMARY KEY) ENGINE = InnoDB")
        log, position, *_ = source.query(_position_of(bench.binary), columns=2)[0]
        follow = (
            f"CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {port}, MASTER_USER = 'replica', "
            # MariaDB since 11.3 wants TLS of a source, and these have none.
            f"MASTER_SSL = 0, MASTER_PASSWORD = '', MASTER_LOG_FILE = '{log}', MASTER_LOG_POS = {position}"
        )
        for statement in (follow, "START SLAVE"):
            replica.query(said_to(bench.binary, statement))
        with bench.running("observe", url_of(replica), out=bench.folder / "replica-observed") as watching:
            watching.until(re.compile("replica_lag_s"), "the lag of the replica")
            replica.query(f"INSERT INTO {_SCHEMA}.t VALUES (1)")
            source.query(f"INSERT INTO {_SCHEMA}.t VALUES (1)")
            watching.until(re.compile(r'"fault"[^\n]*applier does not run'), "word of the applier that stopped")
            require(watching.end(signal.SIGINT) == 0, "the observation did not end well")
    return ("its lag is recorded, and an applier that stops is told",)


def url_of(instance: Instance) -> str:
    """The address of a server as users write it."""
    login = instance.login()
    assert isinstance(login.address, Socket)
    return f"mysql://{login.address.socket}?user={quote(login.user)}&password={quote(login.password, safe='')}"


def said_to(binary: Binary, statement: str) -> str:
    """A statement of replication in the words that the server has."""
    if binary.flavour == "mysql" and binary.version >= (8, 4):
        for old, new in _REPLICATION_WORDS.items():
            statement = statement.replace(old, new)
    return statement


def _position_of(binary: Binary) -> str:
    is_new = binary.flavour == "mysql" and binary.version >= (8, 4)
    return "SHOW BINARY LOG STATUS" if is_new else "SHOW MASTER STATUS"


def _load(bench: Bench, instance: Instance, duration_s: float, *, load: bool = False) -> Path:
    """The file of a load on a server that runs already."""
    file = bench.folder / f"watched-{duration_s:g}.toml"
    database = {"kind": "server", "url": url_of(instance), "schema_name": _SCHEMA, "load": load}
    content = {"workload": {**oltp("read_write", duration_s), "warmup_s": 0}, "database": database}
    file.write_text(tomli_w.dumps(content), encoding="utf-8")
    return file


def _of_pair(bench: Bench, number: int, stack: ExitStack) -> Instance:
    """A server with a binary log."""
    own = {"server_id": str(number), "log_bin": "log"}
    return stack.enter_context(listening(bench, f"pair-{number}", "127.0.0.1", own))


@contextmanager
def listening(bench: Bench, name: str, address: str, own: Mapping[str, str] = {}) -> Iterator[Instance]:
    """A server that listens on a port of an address of this machine, with these settings besides."""
    settings = {**_SMALL, "skip_networking": "0", "bind_address": address, "port": str(free_port(address)), **own}
    if "mysqlx" in bench.binary.options():
        settings["mysqlx"] = "0"  # it has a port of its own, which all of them would want
    with Instance(bench.binary, bench.folder / name, settings) as instance:
        instance.initialise()
        instance.start()
        yield instance


def settled(variables: Mapping[str, str]) -> dict[str, str]:
    """Variables without those that tell the time or what was done last."""
    return {name: value for name, value in variables.items() if not any(word in name for word in _MOVING)}
