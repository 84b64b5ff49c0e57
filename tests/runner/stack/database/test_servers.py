"""Cells on real database servers: what is measured, checked, kept, and refused."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from lab import Lab, Ran
from serverlab import OLTP, SMALL, TPCC, Foreign, ServerLab, made_in

from flatwater.experiment.database.login import Login
from flatwater.server import Instance

KINDS = {"new_order", "payment", "order_status", "delivery", "stock_level"}


def holders(secret: str, *folders: Path) -> list[Path]:
    """Files below folders that hold a text."""
    assert any(path.is_file() for folder in folders for path in folder.rglob("*"))
    # Contents of devices that other tests made are larger than memory, and mostly holes.
    found = subprocess.run(["grep", "-rlaF", "-e", secret, *folders], capture_output=True, text=True)
    assert found.returncode in (0, 1), found.stderr
    return [Path(line) for line in found.stdout.splitlines()]


def digest(folder: Path) -> str:
    """Of all files below a folder, and of their names."""
    found = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        found.update(str(path).encode() + path.read_bytes())
    return found.hexdigest()


@pytest.fixture(scope="module")
def passwords() -> set[str]:
    """Of the servers that `ran` started."""
    return set()


@pytest.fixture(scope="module")
def ran(storage: Path, tmp_path_factory: pytest.TempPathFactory, passwords: set[str]) -> Iterator[Ran]:
    """One run of tpcc for all that is looked at in it."""
    login = Instance.login

    def overheard(self: Instance, schema: str | None = None) -> Login:
        passwords.add(login(self, schema).password)
        return login(self, schema)

    with pytest.MonkeyPatch.context() as patch, closing(Lab(tmp_path_factory.mktemp("tpcc"))) as lab:
        patch.setattr(Instance, "login", overheard)
        settings = SMALL | {"innodb_io_capacity": 345, "innodb_flush_log_at_trx_commit": 2}
        servers = ServerLab(lab, storage, lab.folder)
        yield servers.go({**TPCC, "duration_s": 3}, settings=settings, interval_s=0.25)


class TestTpcc:
    def test_its_figures(self, ran: Ran) -> None:
        assert (ran.code, ran.cell["status"], ran.cell["unit"]) == (0, "complete", "NOTPM"), ran.stderr
        summary = ran.summary
        assert summary.mean is not None and summary.mean > 0 and summary.samples >= 8
        assert summary.errors == 0 and summary.events == []
        assert {*summary.latency_by_kind_us} == {"all", *KINDS}
        assert summary.operations == sum(summary.latency_by_kind_us[kind].count for kind in KINDS)
        # NOTPM counts New-Orders a minute.
        orders = summary.latency_by_kind_us["new_order"].count
        assert summary.mean == pytest.approx(orders / 3 * 60, rel=0.1)
        assert summary.counters["queries"] > 10 * summary.operations
        for name in ("deadlocks", "lock_timeouts", "conflicts", "rollbacks", "reconnects", "connect_failures"):
            assert summary.counters[name] >= 0
        assert summary.counters["reconnects"] == summary.counters["connect_failures"] == 0
        # Of four sessions in three seconds, as long as no session can be in two commits.
        assert 0 < summary.counters["commit_us"] < 4 * 3e6

    def test_its_data_are_consistent(self, ran: Ran) -> None:
        found = {condition.number: condition for condition in ran.summary.consistency}
        assert [*found] == list(range(1, 13))
        for number, condition in found.items():
            if number <= 10:
                assert (condition.applies, condition.holds, condition.violations) == (True, True, 0), condition
            else:
                assert (condition.applies, condition.holds, condition.violations) == (False, None, None)
                assert condition.note and condition.title

    def test_limits_on_response_times(self, ran: Ran) -> None:
        limits = {limit.kind: limit for limit in ran.summary.response_limits}
        assert {*limits} == KINDS
        for kind, limit in limits.items():
            assert limit.limit_us == {"stock_level": 20e6, "delivery": 80e6}.get(kind, 5e6)
            latency = ran.summary.latency_by_kind_us[kind]
            assert latency.p50 is not None and latency.max is not None
            assert latency.p50 <= limit.p90_us <= latency.max
            assert limit.within == (limit.p90_us <= limit.limit_us)

    def test_the_server_is_named(self, ran: Ran) -> None:
        (server,) = ran.summary.servers
        assert server.flavour == "mariadb" and server.version.startswith("10.") and server.started_s
        assert server.version in ran.summary.layers["server"]
        assert ran.summary.layers["database"] == ran.summary.layers["storage"] == "real"

    def test_what_the_server_said_is_kept(self, ran: Ran) -> None:
        kept = ran.out / "servers" / "0000"
        assert {path.name for path in kept.iterdir()} == {
            "error.log",
            "my.cnf",
            "tables-loaded.json",
            "tables.json",
            "variables.json",
        }
        variables = json.loads((kept / "variables.json").read_text())
        assert variables["innodb_io_capacity"] == "345"
        assert variables["innodb_flush_log_at_trx_commit"] == "2"
        assert variables["innodb_buffer_pool_size"] == str(64 * 2**20)
        assert "innodb_io_capacity = 345" in (kept / "my.cnf").read_text()
        assert "ready for connections" in (kept / "error.log").read_text()
        assert "Shutdown complete" in (kept / "error.log").read_text()

    def test_the_sizes_of_the_indexes_are_kept_as_loaded_and_as_they_ended(self, ran: Ran) -> None:
        kept = ran.out / "servers" / "0000"
        loaded, ended = (
            {(one["table"], one["index"]): one for one in json.loads((kept / name).read_text())}
            for name in ("tables-loaded.json", "tables.json")
        )
        assert loaded.keys() == ended.keys()
        grown = [index for index, one in ended.items() if one["leaf_pages"] > loaded[index]["leaf_pages"]]
        # Its pages were built full, and the first new entry of each splits it.
        assert ("order_line", "fkey_order_line_2") in grown
        assert all(one["leaf_pages"] <= ended[index]["leaf_pages"] for index, one in loaded.items())

    def test_no_password_is_anywhere(self, ran: Ran, storage: Path, passwords: set[str]) -> None:
        assert ran.code == 0 and passwords
        for password in passwords:
            assert holders(password, ran.out, storage) == []
        assert not holders("password = ", ran.out)

    def test_the_server_is_recorded(self, ran: Ran) -> None:
        cell = ran.recorded
        for name in ("checkpoint_age_bytes", "dirty_pct", "log_bytes_per_s", "server_cpu_user_pct"):
            series = cell.series("database", name)
            # A server that answers late, on a machine that is busy, is not told of in that interval.
            assert len(series) >= 4 and series.value.max() > 0, name
        assert len(cell.series("storage", "write_bytes_per_s")) >= 10

    def test_nothing_is_left(self, ran: Ran, servers: ServerLab, storage: Path) -> None:
        assert servers.processes() == []
        assert not made_in(storage, "flatwater-servers/run/*")
        assert not made_in(storage, "flatwater-servers/loading/*")
        said = (ran.out / "servers" / "0000" / "my.cnf").read_text()
        (socket,) = [line.removeprefix("socket = ") for line in said.splitlines() if line.startswith("socket = ")]
        assert not Path(socket).parent.exists()

    def test_it_can_be_reported(self, ran: Ran, lab: Lab) -> None:
        assert lab.run(ran.out, verb="report").code == 0


class TestSweep:
    @pytest.mark.slow
    def test_cells_start_from_one_snapshot(self, servers: ServerLab) -> None:
        """The second run of an experiment loads nothing, nor does the second cell of the first."""
        sweep = {"database.settings.innodb_io_capacity": [200, 700]}
        first = servers.go({**OLTP, "rows": 1234, "duration_s": 0.5}, sweep=sweep)
        assert first.code == 0, first.stderr
        assert first.stderr.count("make a data directory") == first.stderr.count("load rows") == 1, first.stderr
        assert first.stderr.count("copy the data") == 2
        before = digest(servers.storage / "flatwater-servers" / "snapshots")
        again = servers.go({**OLTP, "rows": 1234, "duration_s": 0.5}, sweep=sweep)
        assert again.code == 0 and "load rows" not in again.stderr
        for ran in (first, again):
            got = [
                json.loads((ran.out / "servers" / f"{cell:04}" / "variables.json").read_text())["innodb_io_capacity"]
                for cell in range(2)
            ]
            assert sorted(got) == ["200", "700"]
            assert [cell["status"] for cell in ran.cells] == ["complete"] * 2
        assert digest(servers.storage / "flatwater-servers" / "snapshots") == before, "what they start from stays"
        servers.check_clean()

    @pytest.mark.parametrize(
        ("name", "good", "value", "told"),
        [
            ("innodb_adaptive_flushing_method", [], "keep_average", "MariaDB 10."),
            ("innodb_io_capasity", [], 200, "did you mean innodb_io_capacity"),
            ("innodb_flush_method", ["fsync"], "O_MAGIC", "O_DIRECT"),
        ],
    )
    def test_what_a_later_cell_cannot_set_is_refused_at_once(
        self, servers: ServerLab, tmp_path: Path, name: str, good: list[object], value: object, told: str
    ) -> None:
        place = tmp_path / "place"
        place.mkdir()
        sweep = {"workload.connections": [1, 2], f"database.settings.{name}": [*good, value]}
        ran = servers.go(OLTP, storage=place, sweep=sweep)
        assert ran.code == 2, ran.stderr
        assert f"database.settings.{name}: " in ran.error and told in ran.error
        assert "cell 1" not in ran.stderr and not made_in(place, "flatwater-servers/*/*"), "nothing was made"
        assert not ran.out.exists()

    def test_the_data_can_be_thrown_away(self, servers: ServerLab, tmp_path: Path) -> None:
        file = servers.write({**OLTP, "duration_s": 0.5}, storage=tmp_path)
        ran = servers.run(file, "--set", "storage.keep=false")
        assert ran.code == 0, ran.stderr
        assert not made_in(tmp_path, "flatwater-servers/*/*")


@pytest.mark.slow
def test_two_servers(servers: ServerLab) -> None:
    settings = {"innodb_buffer_pool_size": "64M", "innodb_log_file_size": "32M"}
    # Long intervals, in which both answer the recorder on a machine that is busy.
    ran = servers.go({**OLTP, "duration_s": 3}, {"instances": 2}, settings=settings, interval_s=0.5)
    assert ran.code == 0, ran.stderr
    assert [server.instance for server in ran.summary.servers] == [0, 1]
    assert ran.summary.layers["server"].startswith("2 x mariadb")
    cell = ran.recorded
    whole = cell.series("workload", "throughput").value
    parts = [cell.series("workload", f"instance{number}_throughput").value for number in (0, 1)]
    assert min(part.sum() for part in parts) > 0
    assert sum(part.sum() for part in parts) == pytest.approx(whole.sum(), rel=0.01)
    # Sums are told of intervals in which both answered.
    together, *each = (
        dict(zip(series.time_s, series.value, strict=True))
        for series in (cell.series("database", f"{of}checkpoint_age_bytes") for of in ("", "instance0_", "instance1_"))
    )
    assert together
    for time_s, age_bytes in together.items():
        assert age_bytes == pytest.approx(each[0][time_s] + each[1][time_s], rel=1e-6)
    for number in ("0", "1"):
        kept = ran.out / "servers" / "0000" / number
        assert "ready for connections" in (kept / "error.log").read_text()
        variables = json.loads((kept / "variables.json").read_text())
        assert variables["innodb_buffer_pool_size"] == str(32 * 2**20), "the memory is shared out"
    servers.check_clean()


class TestPace:
    def test_an_open_loop_keeps_its_rate(self, servers: ServerLab) -> None:
        ran = servers.go({**OLTP, "mode": "point_select", "rate_per_s": 100, "duration_s": 3})
        assert ran.code == 0, ran.stderr
        assert ran.cell["mean"] == pytest.approx(100, rel=0.1)

    def test_terminals_that_think(self, servers: ServerLab) -> None:
        """By clause 5.2.5 a New-Order takes 18 s of keying alone: hardly one of a few terminals gets to work in 3 s."""
        ran = servers.go(
            {**TPCC, "connections": 3, "keying_and_think": True, "duration_s": 2, "check_consistency": False}
        )
        assert ran.code == 0, ran.stderr
        assert ran.summary.consistency == []
        assert ran.summary.operations <= 3


def test_deadlocks_are_counted_and_no_errors(servers: ServerLab) -> None:
    workload = {**OLTP, "rows": 10, "connections": 16, "distribution": "uniform", "duration_s": 2}
    ran = servers.go(workload)
    assert ran.code == 0, ran.stderr
    assert ran.summary.counters["deadlocks"] > 0
    assert ran.summary.errors == 0, ran.summary.warnings
    total = ran.recorded.series("workload", "deadlocks_per_s").value.sum() * 0.1
    assert total == pytest.approx(ran.summary.counters["deadlocks"], rel=0.2)


class TestAttached:
    def test_nothing_of_it_is_changed(self, servers: ServerLab, foreign: Foreign) -> None:
        before = foreign.instance.variables()
        ran = servers.go(OLTP, {"url": foreign.url(foreign.schema("one")), "load": True})
        assert ran.code == 0, ran.stderr
        assert "load rows" in ran.stderr
        assert foreign.instance.variables() == before
        assert foreign.instance.running
        (server,) = ran.summary.servers
        assert server.started_s is None and server.flavour == "mariadb"
        assert json.loads((ran.out / "servers" / "0000" / "variables.json").read_text())["version"] == server.version
        assert len(ran.recorded.series("database", "checkpoint_age_bytes")) > 0
        assert holders(foreign.password, ran.out) == []
        assert f"user={foreign.user}" in (ran.out / "experiment.toml").read_text()
        assert foreign.instance.query("SELECT COUNT(*) FROM one.sbtest1")
        again = servers.go(OLTP, {"url": foreign.url("one")})
        assert again.code == 0, "what is there need not be loaded again: " + again.stderr

    def test_tpcc(self, servers: ServerLab, foreign: Foreign) -> None:
        url = foreign.url(foreign.schema("warehouses"))
        ran = servers.go({**TPCC, "check_consistency": False}, {"url": url, "load": True})
        assert ran.code == 0 and ran.summary.mean, ran.stderr
        more = servers.go({**TPCC, "warehouses": 2}, {"url": url})
        assert more.code == 2, more.stderr
        assert "warehouse" in more.error and "1" in more.error and "2" in more.error
        assert more.result.manifest.status == "failed"
        foreign.instance.query("UPDATE warehouses.warehouse SET w_ytd = w_ytd + 1")
        broken = servers.go({**TPCC, "duration_s": 0.5}, {"url": url})
        assert broken.code == 1 and "not consistent: TPC-C condition 1, 8 of" in broken.error, broken.stderr
        assert broken.cell["status"] == "failed" and broken.summary.operations > 0
        assert [one.number for one in broken.summary.consistency if one.holds is False] == [1, 8]
        loaded = servers.go({**TPCC, "warehouses": 2}, {"url": url, "load": True})
        assert loaded.code == 1 and "warehouse" in loaded.error, loaded.stderr

    @pytest.mark.parametrize("workload", [OLTP, TPCC], ids=["oltp", "tpcc"])
    def test_an_empty_schema(self, servers: ServerLab, foreign: Foreign, workload: dict[str, object]) -> None:
        ran = servers.go(workload, {"url": foreign.url(foreign.schema("empty"))})
        assert ran.code == 2
        assert "database.load = true" in ran.error, ran.error

    def test_tables_of_somebody_else_are_not_touched(self, servers: ServerLab, foreign: Foreign) -> None:
        foreign.schema("theirs")
        foreign.instance.query("CREATE TABLE theirs.sbtest1 (id INT PRIMARY KEY, secret INT)")
        foreign.instance.query("INSERT INTO theirs.sbtest1 VALUES (1, 42)")
        ran = servers.go(OLTP, {"url": foreign.url("theirs"), "load": True})
        assert ran.code in (1, 2)
        assert "theirs" in ran.error, ran.error
        assert foreign.instance.query("SELECT * FROM theirs.sbtest1") == [("1", "42")]

    def test_the_password_may_be_in_the_environment(
        self, servers: ServerLab, foreign: Foreign, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        url = foreign.url(foreign.schema("environment"), password="")
        monkeypatch.setenv("FLATWATER_PASSWORD", foreign.password)
        ran = servers.go({**OLTP, "duration_s": 0.5}, {"url": url, "load": True})
        assert ran.code == 0, ran.stderr
        assert holders(foreign.password, ran.out) == []

    def test_a_wrong_password(self, servers: ServerLab, foreign: Foreign, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("FLATWATER_PASSWORD", raising=False)
        for password in ("wrong-one", ""):
            ran = servers.go(OLTP, {"url": foreign.url("one", password=password)})
            assert ran.code == 2 and "Access denied" in ran.error and "database.url" in ran.error
            assert "wrong-one" not in ran.stderr
            assert not ran.out.exists()

    @pytest.mark.parametrize(
        "place", ["/nowhere.sock?user=nobody", "nobody@127.0.0.1:1/one", "nobody@nowhere.invalid/one"]
    )
    def test_nobody_there(self, servers: ServerLab, place: str) -> None:
        ran = servers.go(OLTP, {"url": f"mysql://{place}"})
        told = r"error: \S+\.toml:\d+: database\.url: cannot connect to "
        assert ran.code == 2 and re.match(told, ran.error), ran.error


class TestStorage:
    def test_missing(self, servers: ServerLab, tmp_path: Path) -> None:
        ran = servers.go(OLTP, storage=tmp_path / "missing")
        assert ran.code == 2 and "storage.path" in ran.error and "mkdir -p" in ran.error

    def test_a_file(self, servers: ServerLab, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        ran = servers.go(OLTP, storage=tmp_path / "file")
        assert ran.code == 2 and "not a directory" in ran.error

    def test_read_only(self, servers: ServerLab, device: Callable[..., Path], mount: Callable[..., Path]) -> None:
        ran = servers.go(OLTP, storage=mount(device(16, "ext4"), "-o", "ro"))
        assert ran.code == 2 and "not writable" in ran.error

    def test_used_by_another_run(self, servers: ServerLab) -> None:
        run = servers.start(servers.write({**OLTP, "duration_s": 60}))
        run.until_recorded(2)
        ran = servers.go(OLTP)
        assert ran.code == 2 and "another flatwater is using" in ran.error
