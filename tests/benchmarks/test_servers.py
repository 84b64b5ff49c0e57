"""The servers of the matrix: where they are looked for, what is unpacked, and the page."""

from __future__ import annotations

import io
import subprocess
import tarfile
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from benchmarks.servers import __main__ as program
from benchmarks.servers import placing
from benchmarks.servers.apt import download
from benchmarks.servers.bench import Bench, StepFailed, require, why
from benchmarks.servers.cache import FOLDER, cache_folder, get, locate
from benchmarks.servers.origins import Built, Debian, put, unpack
from benchmarks.servers.page import page
from benchmarks.servers.records import Record, read_records, write_record
from benchmarks.servers.registry import SERVERS, Server, find
from benchmarks.servers.steps import _REASONS, STEPS, require_counted

from flatwater.errors import FlatwaterError, UserError
from flatwater.experiment.database.generation import series_of
from flatwater.experiment.database.measured import default_workload
from flatwater.server import Binary
from flatwater.server.placement import MEANS
from flatwater.server.settings import spans


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path / "cache"))
    for server in SERVERS:
        monkeypatch.delenv(server.variable, raising=False)


def _program(folder: Path, says: str) -> Path:
    path = folder / "mysqld"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\nprintf '%s\\n' '{says}'\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("server", SERVERS, ids=lambda server: server.name)
def test_every_server_of_the_matrix_has_measured_transactions(server: Server) -> None:
    flavour, _, version = server.name.partition("-")
    series = series_of(flavour, version)
    assert series.flavour == flavour
    for kind in ("tpcc", "oltp"):
        assert default_workload(kind, server.name).generation == series.measured(kind)


def test_every_part_that_can_be_placed_is_known_by_its_files() -> None:
    assert set(placing._OPEN) == set(MEANS)
    names = {"redo_log": "ib_logfile0", "undo_logs": "undo_001", "doublewrite": "#ib_16384_0.dblwr"}
    names |= {"binary_log": "binlog.000001", "temporary_files": "ibPx8Wqe (deleted)", "tables": "stock.ibd"}
    names |= {"system_tablespace": "ibdata1"}
    for item, name in names.items():
        assert [one for one, pattern in placing._OPEN.items() if pattern.fullmatch(name)] == [item]


def test_servers_have_one_name_each_and_steps_too() -> None:
    names, variables = [server.name for server in SERVERS], [server.variable for server in SERVERS]
    assert len({*names}) == len({*variables}) == len(SERVERS)
    assert find("mysql-8.0") in SERVERS and find("oracle") is None
    assert find("mariadb-10.11").variable == "FLATWATER_SERVER_MARIADB_10_11"  # type: ignore[union-attr]
    assert len({step.name for step in STEPS}) == len(STEPS)


def test_the_settings_of_a_server_are_settings_that_flatwater_knows() -> None:
    for server in SERVERS:
        for name, values in server.own:
            assert spans(name) and values, (server.name, name)


def test_servers_are_outside_of_the_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cache_folder() == tmp_path / "cache"
    monkeypatch.delenv(FOLDER)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "flatwater" / "servers"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_folder() == tmp_path / "home" / ".cache" / "flatwater" / "servers"


def test_a_path_of_the_users_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server("mine-8.0", "mine", Built("Mine 8.0", "mine-8.0", "libexec/mysqld"))
    assert locate(server) is None
    with pytest.raises(FlatwaterError, match=r"scripts/servers/mine-8\.0 SOURCES builds it"):
        get(server)
    monkeypatch.setenv(server.variable, str(_program(tmp_path / "a", "mysqld  Ver 8.0.36 for Linux (MySQL)")))
    found = locate(server)
    assert found is not None and found.title == "MySQL 8.0.36" and get(server) == found
    monkeypatch.setenv(server.variable, str(tmp_path / "nothing"))
    with pytest.raises(UserError, match="does not exist"):
        locate(server)


class _Broken:
    """An origin that fails when half of the server is there."""

    about = "nowhere"

    def program_in(self, folder: Path) -> Path:
        return folder / "bin" / "mysqld"

    def bring(self, made: Path, work: Path, final: Path) -> None:
        _program(made / "bin", "mysqld  Ver 8.0.36 for Linux (MySQL)")
        raise FlatwaterError("the line was cut")


def test_half_a_server_is_none(tmp_path: Path) -> None:
    server = Server("broken", "Broken", _Broken())
    with pytest.raises(FlatwaterError, match="the line was cut"):
        get(server)
    assert locate(server) is None and not [*cache_folder().iterdir()]


class _Twice(_Broken):
    """An origin that another `get` has filled meanwhile."""

    def bring(self, made: Path, work: Path, final: Path) -> None:
        for folder in (made, final):
            _program(folder / "bin", "mysqld  Ver 8.0.36 for Linux (MySQL)")


def test_two_may_get_one_server_at_a_time(tmp_path: Path) -> None:
    assert get(Server("twice", "Twice", _Twice())).title == "MySQL 8.0.36"


def test_a_script_that_builds_a_server_reads_its_sources_only(tmp_path: Path) -> None:
    """What it refuses, before it writes anything. The build takes minutes: `make test-servers` needs what it built."""
    scripts = Path(__file__).parents[2] / "scripts" / "servers"
    built = [server.origin for server in SERVERS if isinstance(server.origin, Built)]
    assert {origin.script for origin in built} == {path.name for path in scripts.iterdir()}
    for origin in built:

        def refused(*arguments: str | Path, script: Path = scripts / origin.script) -> tuple[int, str]:
            ran = subprocess.run([script, *arguments], capture_output=True, text=True, cwd=tmp_path)
            return ran.returncode, ran.stderr

        assert refused("--help") == (0, "") and refused()[0] == 2
        code, said = refused("nothing")
        assert code == 2 and said.startswith("error: nothing has no ") and said.count("\n") == 1
        assert refused("a", "b", "c")[0] == 2
    assert not [*tmp_path.iterdir()]


def test_archives_are_unpacked_and_nothing_outside(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "one.jar", "w") as archive:
        archive.writestr("5-5-9/mysqld", "program")
        archive.writestr("5-5-9/share/errmsg.sys", "messages")
    unpack(tmp_path / "one.jar", tmp_path / "unpacked")
    made = tmp_path / "made"
    put({"5-5-9/mysqld": "bin/mysqld", "5-5-9/share": ""}, tmp_path / "unpacked", made)
    assert (made / "errmsg.sys").read_text() == "messages"
    assert (made / "bin" / "mysqld").stat().st_mode & 0o111
    with pytest.raises(FlatwaterError, match="the archive has no lib"):
        put({"lib": "lib"}, tmp_path / "unpacked", made)
    with tarfile.open(tmp_path / "bad.tgz", "w:gz") as archive:
        archive.addfile(tarfile.TarInfo("../outside"), io.BytesIO())
    with pytest.raises(FlatwaterError, match=r"bad\.tgz cannot be unpacked"):
        unpack(tmp_path / "bad.tgz", tmp_path / "inside")
    assert not (tmp_path / "outside").exists()
    (tmp_path / "noise.tgz").write_bytes(b"noise")
    with pytest.raises(FlatwaterError, match=r"noise\.tgz cannot be unpacked"):
        unpack(tmp_path / "noise.tgz", tmp_path / "inside")


@pytest.mark.parametrize("has_filter", [True, False])
def test_archives_have_files_and_links_inside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_filter: bool
) -> None:
    """Also with the Python of Debian 12, which cannot filter."""
    if not has_filter:
        monkeypatch.delattr(tarfile, "data_filter", raising=False)
    with tarfile.open(tmp_path / "good.tgz", "w:gz") as archive:
        archive.addfile(tarfile.TarInfo("5.6/bin/mysqld"), io.BytesIO())
        link = tarfile.TarInfo("5.6/lib/libc.so")
        link.type, link.linkname = tarfile.SYMTYPE, "../bin/mysqld"
        archive.addfile(link)
    unpack(tmp_path / "good.tgz", tmp_path / "good")
    assert (tmp_path / "good" / "5.6" / "lib" / "libc.so").resolve().name == "mysqld"
    for number, (name, kind, target) in enumerate(
        (
            ("../outside", tarfile.REGTYPE, ""),
            ("link", tarfile.SYMTYPE, "../../outside"),
            ("a/link", tarfile.LNKTYPE, "../outside"),
            ("device", tarfile.CHRTYPE, ""),
        )
    ):
        bad = tarfile.TarInfo(name)
        bad.type, bad.linkname = kind, target
        with tarfile.open(tmp_path / f"{number}.tgz", "w:gz") as archive:
            archive.addfile(bad)
        with pytest.raises(FlatwaterError, match="cannot be unpacked"):
            unpack(tmp_path / f"{number}.tgz", tmp_path / str(number))


def test_a_client_that_fails_says_why_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FlatwaterError, match="apt-get is not installed"):
        download("trixie", ["mariadb-server-core"], tmp_path / "work")
    apt = tmp_path / "apt-get"
    told = "printf 'Debian\\tDebian\\tfile:/nowhere\\n'; echo 'E: no route' >&2"
    apt.write_text(f"#!/bin/sh\n{told}\n[ $1 = indextargets ]\n")
    apt.chmod(0o755)
    with pytest.raises(FlatwaterError, match="apt-get: E: no route"):
        download("trixie", ["mariadb-server-core"], tmp_path / "again")
    assert "file:/nowhere" in (tmp_path / "again" / "sources" / "suite.sources").read_text()
    assert Debian("trixie", ("a",), (), "usr/sbin/mariadbd", ()).about.startswith("the package a of Debian's suite")


def test_records_are_kept_and_told(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_records("mysql-5.5") == {}
    ok = Record("strip", "MySQL 5.5.9", "2026-11-23 10:00 UTC", True, 3.0, ("age at most 88 %",), ("a reason",))
    write_record("mysql-5.5", ok)
    write_record("mysql-5.5", Record("start", "MySQL 5.5.9", "2026-11-23 09:00 UTC", False, 1.0, failure="a | b\n<c>"))
    write_record(
        "mysql-5.5",
        Record("start", "MySQL 5.5.9", "2026-11-23 11:00 UTC", False, 1.0, failure="/srv/pt/result-1: a | b\n<c>"),
    )
    records = {server.name: read_records(server.name) for server in SERVERS}
    assert records["mysql-5.5"]["strip"] == ok and len(records["mysql-5.5"]) == 2
    text = page(SERVERS, STEPS, records)
    assert "| MySQL 5.5.9 | 2026-11-23 | **failed** | not run |" in text and "passed, in part" in text
    assert "| the database strip | 2026-11-23 | age at most 88 % | a reason |" in text
    later = {**records, "mysql-5.5": {**records["mysql-5.5"], "strip": replace(ok, when="2026-11-26 08:00 UTC")}}
    assert "| MySQL 5.5.9 | 2026-11-23 to 2026-11-26 | **failed** |" in page(SERVERS, STEPS, later)
    assert "failed: result-1: a \\| b &lt;c>" in text and "/srv" not in text
    assert "Not tried: Percona Server 5.1" in text and text.endswith("\n")
    assert all(len(line) <= 120 or line.startswith("|") for line in text.splitlines())
    out = cache_folder() / "page.md"
    monkeypatch.setattr(program, "PAGE", out)
    assert program.main(["page"]) == 0 and out.read_text() == text
    assert "written" in capsys.readouterr().out


def test_reasons_are_told_whole_without_folders_of_this_machine() -> None:
    reason = f"/srv/pt/sampled-replay.toml:3: workload.log: /srv/pt/digests.jsonl: {'none of its statements, ' * 20}end"
    step = STEPS[0].name
    for record in (
        Record(step, "MySQL 5.5.9", "2026-11-23 10:00 UTC", True, 3.0, missing=(reason,)),
        Record(step, "MySQL 5.5.9", "2026-11-23 10:00 UTC", True, 3.0, (reason,)),
        Record(step, "MySQL 5.5.9", "2026-11-23 10:00 UTC", False, 3.0, failure=reason),
    ):
        text = page(SERVERS, STEPS, {"mysql-5.5": {step: record}})
        assert "/srv" not in text and reason.replace("/srv/pt/", "") in text


def test_what_is_not_here_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main(["list"]) == 0
    assert "percona-5.1    not here: built from sources" in capsys.readouterr().out
    assert program.main(["get", "percona-5.1"]) == 1
    assert "not to be had here" in capsys.readouterr().out
    assert program.main(["get", "oracle"]) == 2
    assert "error: there is no server oracle (hint: percona-5.1" in capsys.readouterr().err


def test_why_a_step_failed_is_one_line() -> None:
    require(1, "never said")
    with pytest.raises(StepFailed) as failed:
        require((), "it has\nno InnoDB")
    assert why(failed.value) == "it has no InnoDB"
    assert why(ValueError("x")) == "ValueError: x"


def test_a_reason_for_flushing_that_is_lost_fails_the_matrix() -> None:
    for server in SERVERS:
        assert {*server.uncounted} <= {*_REASONS}
        require_counted(server.name, server.uncounted)
    for lost in _REASONS:
        with pytest.raises(StepFailed, match=f"{lost} is not recorded, and the server should have it"):
            require_counted("mysql-5.6", [lost])
    with pytest.raises(StepFailed, match="is recorded, and the registry says"):
        require_counted("mysql-5.5", [])


@pytest.mark.parametrize(
    ("orders", "lengths"), [(700, [60.0]), (350, [60.0, 240.0]), (10, [60.0, 600.0]), (0, [60.0, 600.0])]
)
def test_costs_are_counted_by_enough_transactions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, orders: int, lengths: list[float]
) -> None:
    asked = []

    def run(_: Bench, workload: Mapping[str, Any]) -> tuple[Any, str]:
        asked.append(workload["duration_s"])
        summary = SimpleNamespace(latency_by_kind_us={"new_order": SimpleNamespace(count=orders)})
        return SimpleNamespace(cells=[SimpleNamespace(summary=summary)]), ""

    monkeypatch.setattr(Bench, "run", run)
    bench = Bench("mysql-8.0", cast(Binary, None), tmp_path)
    assert (bench.counted is bench.tpcc) is (len(lengths) == 1) and asked == lengths
