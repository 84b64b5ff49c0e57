from __future__ import annotations

import os
import re
import socket
from pathlib import Path

import pytest

from flatwater.errors import UserError
from flatwater.experiment.fields import ANY, all_fields, resolve_value
from flatwater.experiment.library import library_files
from flatwater.experiment.parse import expanded
from flatwater.experiment.workload.query_log import QueryLog
from flatwater.experiment.workload.sql.kind import Sql
from flatwater.serve.launch import wish as wish_module
from flatwater.serve.launch.wish import LETTERS_MAX, LINES_MAX, Wish, _flat, _why_not, checked, read_wish


def wish(name: str, *lines: str) -> Wish:
    return Wish(library_files()[name], lines)


def test_lines_are_read_as_they_are_typed() -> None:
    text = "\n  storage.path=/mnt/flash \r\n\n--set workload.threads=4\n# a remark\n"
    assert read_wish(Path("x"), text).lines == ("storage.path=/mnt/flash", "workload.threads=4")


@pytest.mark.parametrize("text", ["x=1\n" * (LINES_MAX + 1), "x=" + "y" * LETTERS_MAX, "x=\0"])
def test_what_no_program_takes_is_refused(text: str) -> None:
    with pytest.raises(UserError):
        read_wish(Path("x"), text)


def test_all_mistakes_have_their_place() -> None:
    found, problems = checked(wish("quick", "workload.threads=-1", "workload.nosuch=3", "x"))
    assert found is None and [one.where for one in problems] == ["--set x"]
    found, problems = checked(wish("quick", "workload.threads=-1", "workload.nosuch=3"))
    assert {one.where for one in problems} == {"--set workload.threads=-1", "--set workload.nosuch=3"}


def test_a_run_has_its_place_before_it_starts(tmp_path: Path) -> None:
    found, (problem,) = checked(wish("quick"))
    assert found is None and "storage.path is missing" in problem.what
    found, problems = checked(wish("quick", f"storage.path={tmp_path}"))
    assert found is not None and found.cells == 3 and not problems


#: A server of flatwater's own.
SERVER = "storage.path=/tmp"
#: A server of others.
URL = ("database.settings={}", "database.url=mysql://root@db1/x")


@pytest.mark.parametrize(
    ("name", "lines", "told"),
    [
        ("quick", ("storage.path=/dev/sda", "storage.overwrite=true"), "storage.overwrite: what is on a device"),
        ("quick", ("storage.path=/tmp", "sweep.storage.overwrite=[false, true]"), "storage.overwrite"),
        ("quick", ("storage.path=/tmp", 'storage={kind="file",path="/tmp",size="1MiB",overwrite=true}'), "overwrite"),
        ("tpcc-quick", URL, "database.url: a load on a server of others"),
        ("tpcc-quick", (URL[0], 'sweep.database.url=["mysql://a@db1/", "mysql://a@db2/"]'), "database.url: a load"),
        ("tpcc-quick", (SERVER, "database.binary=/tmp/mysqld"), "database.binary: a program is not named by its path"),
        ("tpcc-quick", (SERVER, "database.binary=./mysqld"), "database.binary"),
        ("tpcc-quick", (SERVER, 'sweep.database.binary=["mysqld", "/tmp/mysqld"]'), "database.binary"),
        ("tpcc-quick", (*URL, "load.hosts=2", "workload.connections=4"), "load.hosts: other hosts"),
        ("quick", ("storage.path=/tmp", f"sweep.workload.block_size={[4096 * n for n in range(1, 600)]}"), "cells"),
    ],
)
def test_what_could_destroy_or_reach_others_is_not_asked_for_from_a_page(
    name: str, lines: tuple[str, ...], told: str
) -> None:
    found, problems = checked(wish(name, *lines))
    assert found is None
    assert any(told in one.what and "in a terminal" in (one.hint or "") for one in problems), problems


def test_a_server_by_its_name_and_own_files_are_no_danger(tmp_path: Path) -> None:
    for lines in (("database.binary=mysqld",), ("storage.overwrite=false",), ()):
        name = "tpcc-quick" if "database" in "".join(lines) else "quick"
        found, problems = checked(wish(name, f"storage.path={tmp_path}", *lines))
        assert found is not None and not problems


#: Places of storages, which a page names: directories.
PLACES = {"storage.path", "cache.storage.path"}
#: Entries of tables whose names are the user's, one of them with the name of a field that is a place.
OPEN = {
    f"{table}.{entry}"
    for table in ("storage.parameters", "database.settings", "database.tables", "twin.database.tables", "published.set")
    for entry in ("a", "path")
}


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../x", "a/b.toml", "~", "..", "/tmp", "~nosuch", "x.toml", "policy.py:Mine"]
)
def test_no_field_of_the_schema_names_a_file_from_a_page(path: str) -> None:
    """Every field there is, so that one of tomorrow cannot be forgotten; entries of open tables, too."""
    fields = {*all_fields(ANY), *OPEN, "database.storages.a.b", "database.storages.a.path"}
    places = {*PLACES, "database.storages.a.path"} if expanded(path).is_dir() else set()
    assert {field for field in fields if _why_not(field, path) is None} == places
    for field in fields - PLACES - {"database.storages.a.path"}:
        listed = [one for one in _flat(field, ["a", [path], {"b": path}]) if one[1] == path]
        assert len(listed) == 2 and all(_why_not(*one) for one in listed), field


#: Fields that take any word, and open no file of that name.
WORDS = {
    "database.flushing",  # a policy of flatwater's: one of the user's has .py
    # A device of flatwater's: one of the user's has .toml.
    *("storage.device", "cache.storage.device"),
    *("database.binlog_device", "database.doublewrite_device", "database.log_device"),
    # Names of the experiment's own storages, of a schema, and of a state.
    *(field for field in all_fields(ANY) if field.startswith("database.placement.")),
    *("database.schema_name", "cache.before"),
}


def test_a_field_that_takes_any_word_opens_no_file_of_that_name() -> None:
    """A file beside `flatwater serve` has a name without a slash."""
    taken = set()
    for field in all_fields(ANY):
        try:
            resolve_value(field, "a-file")
        except ValueError:
            continue
        if _why_not(field, "a-file") is None:
            taken.add(field)
    assert taken <= WORDS


#: What a workload of own statements has for its times and its sessions: text, and no statement.
NO_STATEMENTS = {"kind", "arrival", "on_error", "unit"}


def test_every_field_of_a_workload_of_own_statements_is_looked_at() -> None:
    for kind in (Sql, QueryLog):
        texts = {name for name, info in kind.model_fields.items() if re.search(r"str|dict|list", str(info.annotation))}
        taken = {name for name in texts if _why_not(f"workload.{name}", "SET GLOBAL general_log = 1") is None}
        assert taken <= NO_STATEMENTS


#: A place of a storage, in each field and in each way of writing it.
PLACED = [
    ("quick", "storage.path={}"),
    ("quick", r'"stor\u0061ge".path={}'),
    ("quick", "sweep.storage.path=[{}]"),
    ("quick", 'sweep={{"storage.path"=[{}]}}'),
    ("quick", 'sweep.zip=[{{"storage.path"=[{}]}}]'),
    ("quick", 'storage={{kind="file",path={},size="1MiB"}}'),
    ("quick", 'cache={{kind="flash",storage={{kind="file",path={}}}}}'),
    ("quick", "cache.storage.path={}"),
    ("tpcc-quick", "database.storages.a.path={}"),
    ("tpcc-quick", 'database.storages={{a={{kind="file",path={}}}}}'),
    ("tpcc-quick", "twin.storage={{path={}}}"),
]


@pytest.mark.parametrize(("name", "line"), PLACED)
@pytest.mark.parametrize("kind", ["device", "block", "file", "link", "new", "below", "fifo", "socket"])
def test_the_place_of_a_storage_is_a_directory_that_exists(
    name: str, line: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("a file of the user's")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    os.mkfifo(tmp_path / "fifo")
    with socket.socket(socket.AF_UNIX) as listening:
        monkeypatch.chdir(tmp_path)  # the path of a socket is short
        listening.bind("socket")
    path = {"device": "/dev/null", "block": "/dev/nvme0n1", "below": f"{tmp_path}/file/x"}.get(
        kind, f"{tmp_path}/{kind}"
    )
    monkeypatch.setattr(wish_module, "check", lambda *_, **__: pytest.fail("it was looked at before it was refused"))
    found, problems = checked(wish(name, line.format(f'"{path}"')))
    assert found is None and any("a directory that exists" in one.what for one in problems), problems
    assert sorted(one.name for one in tmp_path.iterdir()) == ["fifo", "file", "link", "socket"]


def test_every_field_of_the_schema_that_is_a_place_is_looked_at() -> None:
    """Also one of tomorrow: whatever is a path on this machine is a place, or is refused."""
    paths = {
        field for field, infos in all_fields(ANY).items() if any("local_path" in repr(i.annotation) for i in infos)
    }
    assert paths >= PLACES
    for field in paths:
        assert _why_not(field, "/dev/null") is not None and _why_not(field, "nosuch") is not None, field


#: Text that the overrides take for something else than TOML does.
MEANT = ["2024", "2024-01-01", "true", "1.5", "[]", "{}", '["a"] #/../x', '""', "'a'", "a b"]


@pytest.mark.parametrize("key", ["workload.trace", r'workload."tr\u0061ce"', '"workload.trace"', "workload . 'trace'"])
@pytest.mark.parametrize("text", [".vault-token", *MEANT])
def test_a_field_is_the_same_however_it_is_written(key: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wish_module, "check", lambda *_, **__: pytest.fail("a file was opened before the refusal"))
    found, problems = checked(wish("quick", f"{key}={text}"))
    assert found is None and [one.what.partition(":")[0] for one in problems] == ["workload.trace"]


@pytest.mark.parametrize("table", ["published", "expected"])
@pytest.mark.parametrize("written", ["{}", '"{}"', r"{}\u0065d", "twin.{}", "sweep.{}"])
def test_figures_beside_the_run_are_not_brought_by_any_spelling(
    table: str, written: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wish_module, "check", lambda *_, **__: pytest.fail("a file was opened before the refusal"))
    key = f'"{table[:-2]}\\u0065d"' if "u0065" in written else written.format(table)
    for line in (f'{key}=[{{set={{"database.machine"="x.toml"}},value=1}}]', f"{key}.set=1", f"{key}=1"):
        found, problems = checked(wish("adaptive-card", line))
        assert found is None and any("figures beside the run" in one.what for one in problems), line


@pytest.mark.parametrize("name", ["mysqld", "mariadbd", "mysqld-debug", "mysqld-5.7", "mariadbd-11.4", "mysqld8.0"])
def test_a_server_is_named_by_its_name(name: str) -> None:
    assert _why_not("database.binary", name) is None


@pytest.mark.parametrize(
    "name", ["ls", "reboot", "mysqld_safe", "mysqld_multi", "mysql", "mysqldump", "mysqld ", "xmysqld", "mysqld-", "5"]
)
def test_no_other_program_is_started_from_a_page(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wish_module, "check", lambda *_, **__: pytest.fail("the program was asked for its version"))
    for line in (
        f"database.binary={name}x",
        f'sweep.database.binary=["mysqld", "{name}"]',
        f'database={{binary="{name}"}}',
    ):
        found, problems = checked(wish("tpcc-quick", SERVER, line))
        assert found is None and ["mariadbd or mysqld" in one.what for one in problems] == [True], problems


#: Statements of a page's own, as a whole workload.
SQL = 'workload={kind="sql",connections=1,duration_s=9,transactions={a={statements=["SET GLOBAL general_log = 1"]}}}'
#: Statements of a page's own in the library's workload of own statements.
SETUP = 'workload.setup=["SET GLOBAL general_log = 1", {sql="INSERT INTO account VALUES (:account_number, :owner, 1)"}]'


@pytest.mark.parametrize(
    ("name", "lines", "told"),
    [
        ("tpcc-quick", ("database.settings.init_connect=SET GLOBAL general_log = 1",), "statements of your own"),
        ("tpcc-quick", ("database.settings.lc_messages_dir=/root",), "a file is not named by its path"),
        ("tpcc-quick", ("database.settings.loose_init_slave=SET GLOBAL general_log = 1",), "statements of your own"),
        ("tpcc-quick", (SQL,), "statements of your own"),
        ("own-sql", (SETUP,), "statements of your own"),
        (
            "tpcc-quick",
            ('sweep.database.settings=[{innodb_fast_shutdown=1},{init-connect="SET GLOBAL general_log = 1"}]',),
            "statements of your own",
        ),
        ("adaptive-card", ('published=[{set={"database.machine"="/etc/shadow"},value=1}]',), "figures beside the run"),
        (
            "adaptive-card",
            ('expected=[{set={"database.workload"="x.toml"},verdict="flat"}]',),
            "figures beside the run",
        ),
        ("adaptive-card", ("database.tables.path=/etc/passwd",), "a file is not named"),
        ("adaptive-card", ('database.machine="/dev/zero"',), "a file is not named"),
        ("adaptive-card", ("database.flushing=setup.py:X",), "a file is not named"),
        ("adaptive-card", ("storage.device=~nosuch",), "a file is not named"),
        ("quick", ('workload={kind="replay",trace="pyproject"}',), "a file is not named"),
        ("quick", ("thresholds.baseline=results",), "a file is not named"),
    ],
)
def test_neither_statements_nor_files_come_from_a_page(name: str, lines: tuple[str, ...], told: str) -> None:
    found, problems = checked(wish(name, SERVER, *lines))
    assert found is None and any(told in one.what for one in problems), problems


@pytest.mark.parametrize("field", ["workload.log", "database.machine", "storage.device", "sweep.workload.trace"])
def test_whether_a_file_is_there_is_not_told(field: str, tmp_path: Path) -> None:
    (tmp_path / "there").write_text("x")
    there, gone = (
        [one.what for one in checked(wish("tpcc-quick", SERVER, f"{field}={tmp_path}/{name}"))[1]]
        for name in ("there", "gone")
    )
    assert there == gone and any("not" in what and "from a page" in what for what in there)


def test_a_machine_of_the_users_is_no_machine_of_a_page(tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text((library_files()["quick"].parents[1] / "machines" / "xeon-gold-6230-2.toml").read_text())
    found, problems = checked(wish("tproc-c-2026-users", f"database.machine={mine}"))
    assert found is None and ["a file is not named by its path" in one.what for one in problems] == [True]


def test_no_experiment_of_the_library_is_refused_as_it_is() -> None:
    refused = []
    for name, path in library_files().items():
        _, problems = checked(Wish(path, ()))
        refused += [(name, one.what) for one in problems if "missing" not in one.what]
    assert not refused
