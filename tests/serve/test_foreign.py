"""A served result may be anybody's: what it names, and where its links lead, is not opened for a page."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path
from typing import Any, get_args

import pytest
import tomli_w
from opened import watched
from servelab import Lab, wait_for

from flatwater.errors import UserError
from flatwater.experiment import load
from flatwater.experiment.cost import Cost
from flatwater.experiment.fields import all_fields
from flatwater.experiment.thresholds import Thresholds
from flatwater.results import open_result
from flatwater.results.foreign import as_foreign, open_regular
from flatwater.serve.folders import key_of
from flatwater.serve.writers import Writers

FILE = "{FILE}"
_SSD = {"kind": "ssd", "device": "intel-910-2x200", "capacity_scale": 0.02}
_READS = {"kind": "fileio", "mode": "rndrd"}
_FILEIO = {"workload": _READS, "storage": _SSD}
_CACHE = {"kind": "flash", "mode": "write-back", "size": "64MiB"}
_MODEL = {"workload": {"kind": "tpcc", "warehouses": 1}, "database": {"kind": "innodb-model"}, "storage": _SSD}
_OTHERS = {"storages": {"log": _SSD}, "placement": {"redo_log": "log"}}
_SERVER = {"workload": {"kind": "tpcc", "warehouses": 1}, "database": {"kind": "server"}, "storage": {"path": "/tmp"}}
_OWN = {"workload": {"kind": "sql", "transactions": {"a": {"statements": ["select 1"]}}}}
#: Each field of an experiment that names a file -> an experiment in which it has a meaning.
NAMED: dict[str, dict[str, Any]] = {
    "cache.storage.device": {**_FILEIO, "cache": {**_CACHE, "storage": _SSD}},
    "cache.storage.path": {**_FILEIO, "cache": {**_CACHE, "storage": {"kind": "file"}}},
    "cost.prices": {**_FILEIO, "cost": {}},
    "database.binary": _SERVER,
    "database.binlog_device": _MODEL,
    "database.doublewrite_device": _MODEL,
    "database.flushing": _MODEL,
    "database.log_device": _MODEL,
    "database.machine": _MODEL,
    "database.server_public_key_path": _SERVER,
    "database.settings": {**_SERVER, "database": {"kind": "server", "settings": {"ssl_ca": FILE}}},
    "database.ssl_ca": _SERVER,
    "database.ssl_cert": _SERVER,
    "database.ssl_key": _SERVER,
    "database.storages": {
        **_MODEL,
        "database": {"kind": "innodb-model", **_OTHERS, "storages": {"log": {**_SSD, "device": FILE}}},
    },
    "database.tables": {**_MODEL, "database": {"kind": "innodb-model", "tables": {"stock": FILE}}},
    "database.workload": _MODEL,
    "storage.device": _FILEIO,
    "storage.path": {"workload": _READS, "storage": {"kind": "file", "size": "4MiB"}},
    "thresholds.baseline": {**_FILEIO, "thresholds": {"ratio_min": 0.5}},
    "twin.database": {
        **_SERVER,
        "twin": {"database": {"kind": "innodb-model", "workload": FILE}, "storage": _SSD},
        "sweep": {"twin": [False, True]},
    },
    "twin.storage": {
        **_SERVER,
        "twin": {"database": {"kind": "innodb-model"}, "storage": {**_SSD, "device": FILE}},
        "sweep": {"twin": [False, True]},
    },
    "workload.log": {**_SERVER, "workload": {"kind": "query-log"}},
    "workload.setup_file": {**_SERVER, **_OWN},
    "workload.trace": {**_FILEIO, "workload": {"kind": "replay"}},
}
#: Those whose file is opened, or asked for, when the experiment is read in a terminal: what this test can see.
READ = {
    *("cache.storage.device", "database.binlog_device", "database.doublewrite_device", "database.log_device"),
    *("database.machine", "database.storages", "database.tables", "database.workload", "storage.device"),
    *("workload.log", "workload.trace"),
}
#: Fields with a text that is not the name of a file.
NO_FILES = {
    *("cache.before", "cache.storage.file_system", "cache.storage.parameters", "database.schema_name", "database.url"),
    *(f"database.placement.{part}" for part in ("binary_log", "doublewrite", "redo_log", "system_tablespace")),
    *(f"database.placement.{part}" for part in ("tables", "temporary_files", "undo_logs")),
    *("storage.file_system", "storage.parameters", "workload.format", "workload.on_connect", "workload.parameters"),
    "workload.transactions",
}


def _says_text(annotation: Any) -> bool:
    return annotation is str or any(_says_text(one) for one in get_args(annotation) if not isinstance(one, str))


def test_every_field_with_a_text_is_known_here() -> None:
    """A new field of a file belongs into `NAMED`, and what opens it behind `require_may_open`."""
    fields = {name for name, infos in all_fields().items() if any(_says_text(one.annotation) for one in infos)}
    assert fields == (NAMED.keys() | NO_FILES) - {"cost.prices", "thresholds.baseline"}
    assert {name for name, one in Cost.model_fields.items() if _says_text(one.annotation)} <= {"prices", "items"}
    others = {name for name, one in Thresholds.model_fields.items() if _says_text(one.annotation)}
    assert others <= {"baseline", "metrics"}, others


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret.toml"
    path.write_text('password = "of somebody"\n')
    return path


@pytest.fixture
def served(two_results: Path, tmp_path: Path) -> Path:
    """A folder with two results that may be changed."""
    for name in ("mine", "theirs"):
        shutil.copytree(two_results / "one", tmp_path / "served" / name)
    return tmp_path / "served"


def _naming(field: str, secret: Path, *, swept: bool) -> str:
    tables: dict[str, Any] = {name: dict(value) for name, value in NAMED[field].items()}
    text = str(secret)
    if field == "database.flushing":
        text += ".py:X"
    layer, *inner = field.split(".")
    text_of_tables = tomli_w.dumps(tables)
    if FILE not in text_of_tables and not swept:
        place = tables[layer]
        for part in inner[:-1]:
            place[part] = dict(place[part])
            place = place[part]
        place[inner[-1]] = text
    elif swept and layer not in ("cost", "thresholds"):
        tables["sweep"] = {field: [text]}
    return tomli_w.dumps(tables).replace(FILE, text)


@pytest.mark.parametrize("swept", [False, True])
@pytest.mark.parametrize("field", sorted(NAMED))
def test_no_file_that_a_result_names_is_opened_for_a_page(
    served: Path, secret: Path, field: str, *, swept: bool
) -> None:
    (served / "theirs" / "experiment.toml").write_text(_naming(field, secret, swept=swept))
    with watched(secret) as file:
        with Lab([served]) as lab:
            _ask_all(lab, served)
        assert not file.opened


def _ask_all(lab: Lab, served: Path) -> None:
    lab.ask("/")
    mine, theirs = key_of(served / "mine"), key_of(served / "theirs")
    for address in (
        *(f"/run/{theirs}", f"/run/{theirs}/sparkline.svg", f"/compare?run={mine}&run={theirs}"),
        *(f"/cost?run={theirs}", f"/cost?run={mine}&run={theirs}", "/published", "/trend", "/metrics"),
    ):
        answer = lab.ask(address)
        assert answer.status in (200, 404, 500) and b"Internal Server Error" not in answer.body, address
        assert b"somebody" not in answer.body, address


@pytest.mark.parametrize("field", sorted(READ))
def test_a_terminal_opens_it(secret: Path, tmp_path: Path, field: str) -> None:
    """Else the test above would see nothing either."""
    (tmp_path / "mine.toml").write_text(_naming(field, secret, swept=False))
    with watched(secret) as file:
        with pytest.raises(UserError):
            load(tmp_path / "mine.toml")
        assert file.opened
        with as_foreign([tmp_path]), pytest.raises(UserError) as told:
            load(tmp_path / "mine.toml")
        assert not file.opened
    assert "no page opens a file that a result names" in str(told.value)


def test_files_of_flatwater_are_opened_for_a_page(tmp_path: Path) -> None:
    tables = {**_MODEL, "database": {"kind": "innodb-model", "machine": "dell-r900", "workload": "tpcc-mysql-8.0"}}
    (tmp_path / "mine.toml").write_text(tomli_w.dumps(tables))
    with as_foreign([tmp_path]):
        load(tmp_path / "mine.toml")


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    path = tmp_path / "fifo.toml"
    os.mkfifo(path)
    return path


@pytest.mark.parametrize("field", sorted(NAMED))
def test_a_pipe_is_told_in_a_terminal_and_never_waited_for(fifo: Path, tmp_path: Path, field: str) -> None:
    (tmp_path / "mine.toml").write_text(_naming(field, fifo, swept=False))
    told: list[str] = []

    def read() -> None:
        try:
            load(tmp_path / "mine.toml")
        except UserError as error:
            told.append(str(error))

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    wait_for(lambda: not reader.is_alive())
    assert field not in READ | {"workload.setup_file"} or (len(told) == 1 and len(told[0].splitlines()) == 1), told


#: Files of a result that pages read, and folders on the way to them.
STORED = ("flatwater.json", "summary.json", "experiment.toml", "machine.json", "tags.json", "series.parquet")


@pytest.mark.parametrize("name", STORED)
def test_a_link_that_comes_after_the_list_was_read_is_not_followed(served: Path, tmp_path: Path, name: str) -> None:
    there = tmp_path / "elsewhere"
    there.write_bytes((served / "mine" / name).read_bytes() if (served / "mine" / name).exists() else b"{}")
    with Lab([served]) as lab:
        lab.ask("/")
        (served / "theirs" / name).unlink(missing_ok=True)
        (served / "theirs" / name).symlink_to(there)
        with watched(there) as file:
            _ask_all(lab, served)
            assert not file.opened
    # The user himself may have links in his results.
    with watched(there) as file:
        result = open_result(served / "theirs")
        result.cells[0].series("workload", "throughput")
        assert file.opened or name in ("tags.json",)


@pytest.fixture
def unfinished(served: Path) -> Path:
    """The result `theirs` as a run under way: its cell has a journal."""
    result = served / "theirs"
    (result / "series.parquet").unlink()
    (result / "summary.json").unlink()
    manifest = result / "flatwater.json"
    manifest.write_text(manifest.read_text().replace('"complete"', '"running"'))
    return result


def lines(count: int) -> str:
    line = '{{"time_s": {}.0, "start_s": {}.0, "phase": "measure", "metrics": {{"workload.throughput": 777.0}}}}\n'
    return "".join(line.format(at, at - 1) for at in range(1, count + 1))


@pytest.mark.parametrize("way", ["journal.jsonl", "0000", "cells"])
def test_no_journal_behind_a_link_is_followed(unfinished: Path, served: Path, tmp_path: Path, way: str) -> None:
    there = tmp_path / "elsewhere" / "cells" / "0000"
    there.mkdir(parents=True)
    (there / "journal.jsonl").write_text(lines(60))
    place = {"journal.jsonl": "cells/0000/journal.jsonl", "0000": "cells/0000", "cells": "cells"}[way]
    shutil.rmtree(unfinished / "cells", ignore_errors=True)
    (unfinished / place).parent.mkdir(parents=True, exist_ok=True)
    (unfinished / place).symlink_to(tmp_path / "elsewhere" / place)
    with watched(there / "journal.jsonl") as file, Lab([served]) as lab:
        key = key_of(unfinished)
        for address in ("/", f"/run/{key}", f"/run/{key}/live", "/metrics", f"/run/{key}/span?from=1&to=9"):
            assert b"Internal Server Error" not in lab.ask(address).body
        events = lab.watch(key)
        assert "777" not in str(next(iter(events), ""))
        events.close()
        assert not file.opened


def test_what_a_server_told_behind_a_link_is_not_read(served: Path, tmp_path: Path) -> None:
    theirs = served / "theirs" / "servers" / "0000"
    theirs.parent.mkdir(exist_ok=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "variables.json").write_text("{}")
    theirs.symlink_to(tmp_path / "elsewhere")
    with as_foreign([served]), pytest.raises(OSError, match="link"):
        open_regular(theirs / "variables.json")
    with open_regular(theirs / "variables.json") as handle:
        assert handle.read() == b"{}"


def test_the_served_folder_itself_may_be_behind_a_link(served: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(served)
    with Lab([tmp_path / "link"]) as lab:
        lab.ask("/")
        assert lab.ask(f"/run/{key_of(tmp_path / 'link' / 'mine')}").status == 200


def test_nothing_is_foreign_after_a_page(served: Path) -> None:
    with Lab([served]) as lab:
        lab.ask("/")
    assert Writers().of(served) is None
    (served / "theirs" / "machine.json").rename(served / "moved.json")
    (served / "theirs" / "machine.json").symlink_to(served / "moved.json")
    assert open_result(served / "theirs").machine
