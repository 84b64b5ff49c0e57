"""A real server through its life: started, crashed, recovered, frozen, stopped, and refused."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from waiting import until

from flatwater.errors import FlatwaterError, Interrupted
from flatwater.server import Binary, Instance, describe, translate
from flatwater.server.access import USER

MakeInstance = Callable[..., Instance]


def test_it_starts_answers_and_stops(make_instance: MakeInstance, binary: Binary) -> None:
    instance = make_instance({"innodb_io_capacity": "321"})
    instance.start()
    assert instance.recovered_s > 0
    assert instance.query("SELECT CURRENT_USER(), @@innodb_io_capacity") == [(f"{USER}@localhost", "321")]
    assert instance.variables()["version"] == binary.version_text
    assert instance.version_comment
    assert instance.adjusted() == {}
    assert instance.died() is None
    assert psutil.Process(instance.pid).exe() == str(binary.path.resolve())
    instance.stop()
    assert instance.died() is None
    assert not psutil.pid_exists(instance.pid)
    # The instance may be used again.
    instance.start()
    assert instance.query("SELECT 1") == [("1",)]


def test_it_can_be_initialised(binary: Binary, tmp_path: Path) -> None:
    page = translate({"innodb_page_size": "8K"}, binary)
    with Instance(binary, tmp_path / "a folder", page) as instance:
        instance.initialise()
        instance.start()
        assert instance.query("SELECT @@innodb_page_size") == [("8192",)]
        assert not [row for row in instance.query("SHOW DATABASES") if row[0] == "test"]
        instance.stop()
    assert not (tmp_path / "a folder/initialise.log").exists()


def test_only_its_user_reaches_it(make_instance: MakeInstance) -> None:
    instance = make_instance()
    instance.start()
    assert not psutil.Process(instance.pid).net_connections(kind="inet")
    place = Path(instance.login().address.socket)
    assert stat.S_IMODE(place.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(instance.data.stat().st_mode) == 0o700
    instance.close()
    assert not place.parent.exists()


def test_its_password_is_nowhere(make_instance: MakeInstance, tmp_path: Path) -> None:
    # Also not where a server writes statements down.
    instance = make_instance({"log_bin": "binlog", "general_log": "1", "slow_query_log": "1", "long_query_time": "0"})
    instance.start()
    password = instance.login().password
    assert len(password) >= 24
    # Whatever could leak it has been flushed.
    instance.query("CREATE DATABASE flushed")
    socket_folder = Path(instance.login().address.socket).parent
    assert [path.name for path in socket_folder.iterdir()] == ["mysql.sock"]
    instance.stop()
    found = [path for path in tmp_path.rglob("*") if path.is_file() and password.encode() in path.read_bytes()]
    assert found == []
    assert password not in repr(instance)
    assert password not in " ".join(instance.variables() if instance.died() else [])


def test_each_server_has_a_password_of_its_own(make_instance: MakeInstance) -> None:
    one, other = make_instance(name="one"), make_instance(name="two")
    assert one.login().password != other.login().password
    # The same for all its starts: a workload that lost it in a crash logs in again.
    one.start()
    login = one.login()
    one.kill()
    one.start()
    assert one.login() == login
    assert describe(login).variables["datadir"] == f"{one.data}/"


def test_a_killed_server_says_so_and_recovers(make_instance: MakeInstance) -> None:
    instance = make_instance({"innodb_flush_log_at_trx_commit": "1"})
    instance.start()
    instance.query("CREATE DATABASE kept")
    instance.query("CREATE TABLE kept.t (a INT PRIMARY KEY) ENGINE=InnoDB")
    instance.query("INSERT INTO kept.t VALUES (1), (2), (3)")
    os.kill(instance.pid, signal.SIGKILL)
    while instance.died() is None:
        time.sleep(0.01)
    assert instance.died() == "was killed by signal 9 (SIGKILL)"
    with pytest.raises(FlatwaterError, match=r"was killed by signal 9 \(SIGKILL\)"):
        instance.query("SELECT 1")
    with pytest.raises(FlatwaterError, match=r"was killed by signal 9 \(SIGKILL\)"):
        instance.stop()
    instance.start()
    assert instance.died() is None
    assert instance.query("SELECT COUNT(*) FROM kept.t") == [("3",)]


def test_a_frozen_server_is_thawed_and_stops(make_instance: MakeInstance) -> None:
    instance = make_instance()
    instance.start()
    instance.freeze()
    until(lambda: psutil.Process(instance.pid).status() == psutil.STATUS_STOPPED, "it is not frozen")
    with pytest.raises(FlatwaterError, match="is frozen, and answers nothing"):
        instance.query("SELECT 1")
    instance.thaw()
    assert instance.query("SELECT 1") == [("1",)]
    instance.freeze()
    instance.stop()
    assert instance.died() is None


def test_a_server_that_hangs_is_given_up(make_instance: MakeInstance) -> None:
    instance = make_instance()
    instance.start()
    os.kill(instance.pid, signal.SIGSTOP)
    with pytest.raises(FlatwaterError, match="did not stop: it did nothing for 2 s, and was killed"):
        instance.stop(patience_s=2)
    instance.launch()
    os.kill(instance.pid, signal.SIGSTOP)
    told: list[float] = []
    with pytest.raises(FlatwaterError, match="does not become ready: it did nothing for 2 s"):
        instance.wait_ready(patience_s=2, on_wait=told.append)
    assert told


def test_several_start_at_once(make_instance: MakeInstance) -> None:
    both = [make_instance(name="one"), make_instance(name="two")]
    for instance in both:
        instance.launch()
    for instance in both:
        instance.wait_ready()
    assert len({instance.query("SELECT @@datadir")[0] for instance in both}) == 2


def test_an_unknown_setting_is_told_in_one_line(make_instance: MakeInstance) -> None:
    instance = make_instance({"innodb_redo_log_capacitee": "3"})
    with pytest.raises(FlatwaterError) as caught:
        instance.start()
    assert "did not start: " in str(caught.value)
    assert "unknown variable 'innodb_redo_log_capacitee=3'" in str(caught.value)
    assert str(caught.value).endswith(f"(hint: see {instance.error_log})")


def test_a_value_that_the_server_refuses_is_told_in_one_line(make_instance: MakeInstance) -> None:
    with pytest.raises(FlatwaterError, match=r"did not start: .*O_MAGIC.*innodb.flush.method"):
        make_instance({"innodb_flush_method": "O_MAGIC"}).start()


def test_the_cause_of_an_earlier_failure_is_forgotten(make_instance: MakeInstance, binary: Binary) -> None:
    instance = make_instance({"innodb_nonsense": "3"})
    with pytest.raises(FlatwaterError):
        instance.start()
    del instance.settings["innodb_nonsense"]
    instance.start()
    instance.kill()
    assert instance.died() == "was killed by signal 9 (SIGKILL)"


def test_values_that_the_server_changed_are_found(make_instance: MakeInstance) -> None:
    instance = make_instance({"innodb_io_capacity": "5", "innodb_flush_log_at_trx_commit": "2"})
    instance.start()
    assert instance.adjusted() == {"innodb_io_capacity": ("5", "100")}


def test_a_full_disk_is_told_in_one_line(
    make_instance: MakeInstance, binary: Binary, tmpfs: Callable[[int], Path]
) -> None:
    place = tmpfs(24)
    with Instance(binary, place / "new", {}) as instance, pytest.raises(FlatwaterError) as caught:
        instance.initialise()
    assert "cannot make a data directory in " in str(caught.value)
    assert "\n" not in str(caught.value)
    other = Instance(binary, place / "other", {"innodb_log_file_size": "64M"})
    with other, pytest.raises(FlatwaterError, match=r"did not start: |cannot make "):
        other.start()


def test_a_missing_folder_is_told_in_one_line(binary: Binary, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    instance = Instance(binary, tmp_path / "file/one", {})
    with instance, pytest.raises(FlatwaterError, match=r"storage\.path: cannot make .*: Not a directory"):
        instance.initialise()


def test_starting_can_be_stopped(make_instance: MakeInstance) -> None:
    instance = make_instance()
    with pytest.raises(Interrupted):
        instance.start(stop=lambda: True)
    assert not psutil.pid_exists(instance.pid)
    assert list(Path(instance.login().address.socket).parent.glob("init*")) == []


def test_making_a_data_directory_can_be_stopped(binary: Binary, tmp_path: Path) -> None:
    with Instance(binary, tmp_path / "one", {}) as instance, pytest.raises(Interrupted):
        instance.initialise(stop=lambda: True)


def test_a_long_temporary_folder_is_no_obstacle(
    make_instance: MakeInstance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = tmp_path / ("x" * 120)
    long.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(long))
    instance = make_instance()
    instance.start()
    assert instance.query("SELECT 1") == [("1",)]


def test_ctrl_c_in_the_terminal_does_not_reach_the_server(binary: Binary, empty_data: Path, tmp_path: Path) -> None:
    script = (
        "import shutil, signal, sys, time; from pathlib import Path; from flatwater.server import *\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        f"folder = Path({str(tmp_path)!r}) / 'one'; shutil.copytree({str(empty_data)!r}, folder / 'data')\n"
        "instance = Instance(find_server(), folder, {'innodb_log_file_size': '16M'})\n"
        "with instance:\n"
        "    instance.start(); print(instance.pid, flush=True)\n"
        "    sys.stdin.readline(); print(instance.died(), instance.query('SELECT 1'), flush=True)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as flatwater:
        assert flatwater.stdin is not None
        assert flatwater.stdout is not None
        pid = int(flatwater.stdout.readline())
        # What the terminal does: the signal goes to everyone in the group.
        os.killpg(flatwater.pid, signal.SIGINT)
        time.sleep(0.3)
        said, _ = flatwater.communicate("go on\n", timeout=240)
    assert said.strip() == "None [('1',)]"
    assert not psutil.pid_exists(pid)


def test_a_socket_is_not_left_to_a_stranger(make_instance: MakeInstance) -> None:
    # A dead server's socket is in the way of nobody.
    instance = make_instance()
    stale = Path(instance.login().address.socket)
    with socket.socket(socket.AF_UNIX) as old:
        old.bind(str(stale))
    instance.start()
    assert instance.query("SELECT 1") == [("1",)]
