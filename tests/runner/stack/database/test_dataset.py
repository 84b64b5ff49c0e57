"""Loading the data of a workload: once, resumed when it was cut short, and the same as sysbench's."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from lab import Running
from serverlab import OLTP, Foreign, ServerLab

from flatwater.experiment import Experiment, load
from flatwater.plan.server import write_dataset
from flatwater.plan.transactions import write_transactions
from flatwater.runner.stack.database.real.dataset import describe_dataset
from flatwater.runner.stack.database.size import estimate_bytes

MakeDevice = Callable[..., Path]
Mount = Callable[..., Path]

#: Takes a few seconds to load.
LARGE = {**OLTP, "rows": 400_000, "duration_s": 0.5}


def cell(servers: ServerLab, **workload: object) -> Experiment:
    fields = {"kind": "oltp", "mode": "read_only", **workload}
    return load(servers.write({name: value for name, value in fields.items() if value is not None}), [], None)


class TestDescription:
    """Which cells share a snapshot."""

    @pytest.mark.parametrize(
        "other",
        [{"mode": "read_write"}, {"connections": 99}, {"range_size": 7}, {"pipeline": True}, {"prepared": False}],
        ids=str,
    )
    def test_what_is_done_to_the_rows_does_not_matter(self, servers: ServerLab, other: dict[str, object]) -> None:
        assert describe_dataset(cell(servers, **other)) == describe_dataset(cell(servers))
        assert write_transactions(cell(servers, **other)) != write_transactions(cell(servers)) or "connections" in other

    @pytest.mark.parametrize(
        "other",
        [{"rows": 5}, {"tables": 2}, {"secondary": True}, {"auto_inc": False}, {"distribution": "uniform"}],
        ids=str,
    )
    def test_what_the_rows_are_does(self, servers: ServerLab, other: dict[str, object]) -> None:
        assert describe_dataset(cell(servers, **other)) != describe_dataset(cell(servers))

    @pytest.mark.parametrize(
        "other",
        [
            {"variant": "tproc-c"},
            {"variant": "tproc-c", "partitions": 2},
            {"variant": "tproc-c", "history_key": True},
            {"variant": "sysbench-tpcc"},
            {"variant": "sysbench-tpcc", "table_sets": 2},
            {"variant": "sysbench-tpcc", "foreign_keys": False},
            {"variant": "sysbench-tpcc", "history_key": True},
        ],
        ids=str,
    )
    def test_a_schema_of_one_program_is_not_taken_for_anothers(
        self, servers: ServerLab, other: dict[str, object]
    ) -> None:
        names = ("variant", "partitions", "history_key", "table_sets", "foreign_keys")
        plain = describe_dataset(cell(servers, kind="tpcc", mode=None))
        assert plain == {"kind": "tpcc", "warehouses": 10, "seed": 1, "schema": "tpcc"}, "as snapshots of before"
        changed = describe_dataset(cell(servers, kind="tpcc", mode=None, **other))
        assert changed != plain
        # Each of the fields counts by itself.
        for name in names:
            without = {field: value for field, value in other.items() if field != name}
            if name in other and name != "variant":
                assert describe_dataset(cell(servers, kind="tpcc", mode=None, **without)) != changed

    def test_how_clients_of_hammerdb_choose_does_not_matter(self, servers: ServerLab) -> None:
        of = [
            {"variant": "tproc-c"},
            {"variant": "tproc-c", "all_warehouses": True},
            {"variant": "tproc-c", "unit": "NOPM"},
        ]
        first, *others = [describe_dataset(cell(servers, kind="tpcc", mode=None, **one)) for one in of]
        assert all(one == first for one in others)

    def test_inserts_with_ids_of_the_client_begin_with_nothing(self, servers: ServerLab) -> None:
        assert describe_dataset(cell(servers, mode="insert", auto_inc=False))["empty"] is True
        assert describe_dataset(cell(servers, mode="insert"))["empty"] is False

    def test_the_seed_does_not_matter(self, servers: ServerLab) -> None:
        """All experiments share their data."""
        file = servers.write(OLTP)
        assert write_dataset(load(file, [], 1)) == write_dataset(load(file, [], 2))

    def test_more_data_takes_more_room(self, servers: ServerLab) -> None:
        sizes = [
            estimate_bytes(cell(servers, rows=rows, tables=tables)) for rows, tables in ((10, 1), (20, 1), (20, 3))
        ]
        assert sizes == sorted({*sizes})


class TestInterrupted:
    @pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGKILL, marks=pytest.mark.slow)])
    def test_the_next_run_goes_on(self, servers: ServerLab, tmp_path: Path, number: signal.Signals) -> None:
        file = servers.write(LARGE, storage=tmp_path)
        run = servers.start(file)
        (log,) = wait_for(run, lambda: [*tmp_path.glob("flatwater-servers/loading/*/error.log")])
        table = log.parent / "data" / "sbtest" / "sbtest1.ibd"
        # Rows of more than one finished piece.
        run.until(lambda: table.exists() and table.stat().st_size > 24 * 2**20)
        ran = run.send(number)
        servers.until_gone(tmp_path)
        if number == signal.SIGINT:
            assert ran.code == 130 and ran.summary.status == "interrupted"
            assert list(servers.sockets.iterdir()) == []
            assert "the next run goes on" in (ran.summary.error or "")
        before = log.stat().st_ino
        again = servers.run(file, "--resume")
        assert again.code == 0, again.stderr
        assert "make a data directory" not in again.stderr and "load rows" in again.stderr
        (kept,) = tmp_path.glob("flatwater-servers/snapshots/*/error.log")
        assert kept.stat().st_ino == before, "it is the same data directory"
        assert kept.read_text().count("ready for connections") == 2
        assert list(servers.sockets.iterdir()) == []
        servers.check_clean(tmp_path)


class TestNoRoom:
    def test_known_before(self, servers: ServerLab, device: MakeDevice, mount: Mount) -> None:
        ran = servers.go({**OLTP, "rows": 1_000_000_000}, storage=mount(device(64, "ext4")))
        assert ran.code == 2
        assert "storage.path" in ran.error and "GiB" in ran.error
        assert "make a data directory" not in ran.stderr

    @pytest.mark.slow
    def test_while_it_loads(self, servers: ServerLab, device: MakeDevice, mount: Mount) -> None:
        """Somebody else takes the room."""
        small = mount(device(800, "ext4"))
        run = servers.start(servers.write(LARGE, storage=small))
        (table,) = wait_for(run, lambda: [*small.glob("flatwater-servers/loading/*/data/sbtest/sbtest1.ibd")])
        # What is left is less than what is still to come.
        free = shutil.disk_usage(small).free - 12 * 2**20
        subprocess.run(["fallocate", "-l", str(free), str(small / "ballast")], check=True)
        ran = run.wait()
        assert table.exists()
        assert ran.code == 1
        assert "full" in ran.error and "(hint: " in ran.error, ran.error
        servers.until_gone(small)
        assert list(servers.sockets.iterdir()) == []
        # With room again, it goes on.
        (small / "ballast").unlink()
        again = servers.go(LARGE, storage=small)
        assert again.code == 0, again.stderr


class TestSysbench:
    """Debian's sysbench and flatwater run on each other's tables."""

    @pytest.fixture
    def sysbench(self, foreign: Foreign) -> Callable[..., str]:
        program = shutil.which("sysbench")
        if program is None:
            pytest.skip("there is no sysbench on this machine")

        def call(script: str, verb: str, *options: str) -> str:
            told = [f"--mysql-socket={foreign.socket}", f"--mysql-user={foreign.user}", "--mysql-db=shared"]
            command = [
                program,
                script,
                *told,
                f"--mysql-password={foreign.password}",
                "--tables=2",
                "--table-size=1000",
            ]
            done = subprocess.run([*command, *options, verb], capture_output=True, text=True, check=False, timeout=60)
            assert done.returncode == 0, done.stdout + done.stderr
            return done.stdout

        return call

    @pytest.mark.parametrize("mode", ["read_write", "delete"])
    def test_it_prepares_and_flatwater_runs(
        self, servers: ServerLab, foreign: Foreign, sysbench: Callable[..., str], mode: str
    ) -> None:
        foreign.schema("shared")
        sysbench("oltp_read_write", "prepare")
        ran = servers.go({**OLTP, "tables": 2, "mode": mode, "duration_s": 1}, {"url": foreign.url("shared")})
        assert ran.code == 0, ran.stderr
        assert ran.summary.operations > 0 and ran.summary.errors == 0
        if mode == "read_write":
            ((rows, lowest, highest),) = foreign.instance.query("SELECT COUNT(*), MIN(id), MAX(id) FROM shared.sbtest1")
            assert (rows, lowest, highest) == ("1000", "1", "1000"), "each row that is deleted is inserted again"

    @pytest.mark.parametrize("script", ["oltp_read_write", "oltp_read_only"])
    def test_flatwater_loads_and_it_runs(
        self, servers: ServerLab, foreign: Foreign, sysbench: Callable[..., str], script: str
    ) -> None:
        url = foreign.url(foreign.schema("shared"))
        ran = servers.go({**OLTP, "tables": 2, "duration_s": 0.5}, {"url": url, "load": True})
        assert ran.code == 0, ran.stderr
        told = sysbench(script, "run", "--threads=2", "--time=1")
        transactions = re.search(r"transactions:\s+(\d+)", told)
        ignored = re.search(r"ignored errors:\s+(\d+)", told)
        assert transactions is not None and int(transactions[1]) > 10, told
        assert ignored is not None and int(ignored[1]) <= int(transactions[1]), told
        assert "FATAL" not in told

    def test_their_tables_are_alike(self, servers: ServerLab, foreign: Foreign, sysbench: Callable[..., str]) -> None:
        shapes = []
        for load_it in (lambda: sysbench("oltp_read_write", "prepare"), None):
            url = foreign.url(foreign.schema("shared"))
            if load_it is not None:
                load_it()
            else:
                assert servers.go({**OLTP, "tables": 2, "duration_s": 0.2}, {"url": url, "load": True}).code == 0
            ((_, created),) = foreign.instance.query("SHOW CREATE TABLE shared.sbtest2")
            ((lengths,),) = foreign.instance.query("SELECT MAX(LENGTH(c)) * MAX(LENGTH(pad)) FROM shared.sbtest2")
            shapes.append((re.sub(r" AUTO_INCREMENT=\d+", "", created or ""), lengths))
        assert shapes[0] == shapes[1]


def wait_for(run: Running, found: Callable[[], list[Path]]) -> list[Path]:
    run.until(found)
    return found()
