"""Any layer of either sort on any other: each mixture of the kinds of layers opens, or is refused with its reason.

The table of them is mixtures.txt beside this file. It is made from the kinds that the layers have, so that a new kind
is in it as soon as it is there. Whoever changes it on purpose copies the new table, whose place the failing test tells.
"""

from __future__ import annotations

import itertools
import os
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import tomli_w

from flatwater.errors import FlatwaterError
from flatwater.experiment import Experiment, InvalidExperimentError, ModelledStorage, cell_at, list_devices, load
from flatwater.experiment.kinds import BUILT
from flatwater.runner.stack.stack import open_stack
from flatwater.server import find_server

TABLE = Path(__file__).with_name("mixtures.txt")
TRACE = "fio version 3 iolog\n0 f add\n10 f read 0 4096\n20 f write 1048576 8192\n"
LOG = "231123 13:15:00\t     3 Query\tSELECT 1\n"
#: The columns of the table.
NAMES = ("workload", "database", "cache", "its device", "storage", "outcome")
#: What a workload cannot be without.
NEEDED: dict[str, dict[str, Any]] = {
    "fileio": {"mode": "rndrw", "files": 1},
    "observed": {},
    "query-log": {},
    "replay": {"files": 1},
    "sql": {"transactions": {"read": {"statements": ["SELECT 1"]}}},
    "oltp": {"mode": "read_write", "rows": 1000},
    "tpcc": {"warehouses": 1},
}


def storages() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every sort and kind of storage, with its table."""
    devices = {entry.kind: entry.name for entry in list_devices()}
    modelled = {kind for kind, layer in BUILT["storage"].items() if issubclass(layer, ModelledStorage)}
    without = sorted(modelled - devices.keys())
    assert not without, f"devices/ has no device of the kind {', '.join(without)}"
    for kind, layer in BUILT["storage"].items():
        if not issubclass(layer, ModelledStorage):
            yield "real", kind, {"kind": kind}
            continue
        for sort in ("modelled", "modelled in real time"):
            yield sort, kind, {"kind": kind, "device": devices[kind], "real_time": sort != "modelled"}


def mixtures() -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Every mixture by its names, and the tables of its layers."""
    caches: list[tuple[str, str, dict[str, Any]]] = [("none", "-", {"kind": "none"})]
    # One modelled kind does for all: how a device is computed is no affair of the cache's.
    caches += [
        ("flash", sort, {"kind": "flash", "size": "32MiB", "storage": table})
        for sort, kind, table in storages()
        if kind in ("file", "memory")
    ]
    assert set(BUILT["cache"]) == {"none", "flash"}, "a new kind of cache gets its rows here"
    layers = itertools.product(BUILT["workload"], BUILT["database"], caches, storages())
    for workload, database, (cache_kind, device, cache_table), (sort, _, table) in layers:
        tables = {"workload": {"kind": workload}, "database": {"kind": database}}
        yield (workload, database, cache_kind, device, sort), tables | {"cache": cache_table, "storage": table}


class Bench:
    """A place for experiments of all mixtures."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._trace = folder / "trace.iolog"
        self._trace.write_text(TRACE)
        self._log = folder / "query.log"
        self._log.write_text(LOG)
        for name in ("slow", "fast"):
            (folder / name).mkdir()

    def _input(self, kind: str) -> dict[str, str]:
        """The field of the file that a replay reads."""
        return {"replay": {"trace": str(self._trace)}, "query-log": {"log": str(self._log)}}.get(kind, {})

    def read(self, tables: dict[str, Any]) -> Experiment:
        """The experiment of a mixture. Errors: UserError."""
        content = {name: dict(table) for name, table in tables.items()}
        workload, database, storage = content["workload"], content["database"], content["storage"]
        workload |= NEEDED[workload["kind"]] | self._input(workload["kind"])
        for table, folder in ((storage, "slow"), (content["cache"].get("storage"), "fast")):
            if table is not None and (table["kind"] == "file" or table["real_time"]):
                table["path"] = str(self._folder / folder)
        # How large a database is follows from its workload, but not how large the file is that a cache serves.
        if database["kind"] == "none" or (database["kind"] == "server" and content["cache"]["kind"] == "flash"):
            storage["size"] = "64MiB"
        path = self._folder / "mixture.toml"
        path.write_text(tomli_w.dumps(content))
        return load(path, [])


@cache
def has_server() -> bool:
    try:
        find_server(None)
    except FlatwaterError:
        return False
    return True


def can_open(experiment: Experiment) -> bool:
    """Whether this machine has what the mixture takes: a server, and leave to mount."""
    mounts = os.geteuid() == 0 and Path("/dev/fuse").exists()
    served = not experiment.in_virtual_time and (
        isinstance(experiment.storage, ModelledStorage) or experiment.cache.kind != "none"
    )
    return (mounts or not served) and (has_server() or experiment.database.kind != "server")


def outcome(bench: Bench, tables: dict[str, Any]) -> str:
    """What becomes of a mixture, in one line."""
    try:
        experiment = bench.read(tables)
    except InvalidExperimentError as error:
        told = (f"{problem.where}: {problem.what}" for problem in error.problems)
        # Without the file and its line.
        return "; ".join(sorted(re.sub(r"^.*?:\d+: ", "", line) for line in told))
    if can_open(experiment):
        open_stack(experiment, cell_at(experiment, 0)).release()
    return "opens"


def test_each_mixture_opens_or_is_refused_with_its_reason(tmp_path: Path) -> None:
    bench, found = Bench(tmp_path), defaultdict(set)
    for names, tables in mixtures():
        found[names].add(outcome(bench, tables))
    # All kinds of modelled storage are alike.
    rows = [NAMES, *((*names, " OR ".join(sorted(told))) for names, told in found.items())]
    widths = [max(len(row[column]) for row in rows) for column in range(len(NAMES) - 1)]
    lines = [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]) for row in rows
    ]
    table = tmp_path / "mixtures.txt"
    table.write_text("\n".join(lines) + "\n")
    assert table.read_text() == TABLE.read_text(), f"if this is on purpose: cp {table} {TABLE}"


def test_the_table_keeps_what_is_promised() -> None:
    rows = [re.split(r" {2,}", line, maxsplit=5) for line in TABLE.read_text().splitlines()[1:]]
    opening = {tuple(row[:5]) for row in rows if row[5] == "opens"}
    real, modelled, served = "real", "modelled", "modelled in real time"
    # A real server or real files stand on anything in real time, with a cache on any two such devices or without one.
    for workload, database in (("fileio", "none"), ("replay", "none"), ("oltp", "server"), ("tpcc", "server")):
        for storage in (real, served):
            assert (workload, database, "none", "-", storage) in opening
            assert all((workload, database, "flash", device, storage) in opening for device in (real, served))
    # The modelled ones stand on anything in virtual time.
    for workload, database in (("fileio", "none"), ("oltp", "innodb-model"), ("tpcc", "innodb-model")):
        assert (workload, database, "none", "-", modelled) in opening
        assert (workload, database, "flash", modelled, modelled) in opening
    # And nothing real stands on virtual time, nor anything virtual on this machine's.
    assert all(modelled not in names[3:] for names in opening if "server" in names or {real, served} & set(names[3:]))
    assert all(": " in row[5] for row in rows if row[5] != "opens"), "a reason has its field"
