"""Parts of a server that others run, on devices beside that of its data."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from lab import Lab
from observelab import observe
from serverlab import OLTP, ServerLab
from watchedlab import WatchedServer

from flatwater.runner.stack.database.real import apart
from flatwater.runner.stack.database.real.apart import find_apart
from flatwater.server import Attached, Local

MakeServer = Callable[..., WatchedServer]


class Machine:
    """Folders, each on the device of a number; None: it has none."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder, self._devices = folder, dict[Path, tuple[int, int] | None]()
        self._mounts = dict[Path, str]()
        monkeypatch.setattr(apart, "find_block_device", self._device)
        monkeypatch.setattr(apart, "mount_of", lambda place: {"type": self._mounts.get(place, "ext4"), "t": str(place)})

    def folder(self, name: str, device: int | None, kind: str = "ext4") -> Path:
        path = self._folder / name
        path.mkdir()
        self._devices[path] = (8, device) if device is not None else None
        self._mounts[path] = kind
        return path

    def _device(self, place: Path) -> tuple[int, int] | None:
        return next((self._devices[one] for one in (place, *place.parents) if one in self._devices), None)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


def found(data: Path | None, **variables: object) -> apart.Found:
    told = {name: str(value) for name, value in variables.items()}
    return find_apart(Attached("mariadb", (10, 11, 0), "", "", told), Local(os.getpid(), data))


def test_parts_with_the_data_are_no_storage_of_their_own(machine: Machine) -> None:
    data = machine.folder("data", 1)
    assert found(data, innodb_log_group_home_dir="./", tmpdir=data) == apart.Found()


def test_each_device_is_one_storage_that_is_named_after_its_first_part(machine: Machine) -> None:
    data, logs, fast = machine.folder("data", 1), machine.folder("logs", 2), machine.folder("fast", 3)
    told = found(
        data,
        innodb_log_group_home_dir=logs,
        innodb_undo_directory=fast,
        innodb_undo_tablespaces=3,
        log_bin="ON",
        log_bin_basename=logs / "b",
    )
    assert [(one.name, one.items) for one in told.apart] == [
        ("redolog", ("redo_log", "binary_log")),
        ("undologs", ("undo_logs",)),
    ]
    assert told.gaps == () and told.apart[0].text.endswith("(redo log, binary log)")


def test_a_part_on_two_devices_is_two_storages(machine: Machine) -> None:
    data, one, two = machine.folder("data", 1), machine.folder("one", 2), machine.folder("two", 3)
    names = [there.name for there in found(data, tmpdir=f"{data}:{one}:{two}").apart]
    assert names == ["temporaryfiles", "temporaryfiles2"]


def test_what_is_not_recorded_is_a_gap(machine: Machine) -> None:
    data, away = machine.folder("data", 1), machine.folder("away", None, "nfs4")
    told = found(data, innodb_log_group_home_dir=away, innodb_data_file_path="/nonexistent/ibdata1:1G", log_bin="ON")
    gaps = {gap.figures[0]: gap for gap in told.gaps}
    assert told.apart == () and {*gaps} == {
        "storage.redolog_*", "storage.binarylog_*", "storage.systemtablespace_*"
    }  # fmt: skip
    assert "nfs4, which has no device" in gaps["storage.redolog_*"].why and str(away) in gaps["storage.redolog_*"].why
    assert "does not tell" in gaps["storage.binarylog_*"].why
    assert gaps["storage.systemtablespace_*"].why == "/nonexistent/ibdata1 cannot be looked at"


def test_of_files_in_memory_nothing_is_missing(machine: Machine) -> None:
    data, memory = machine.folder("data", 1), machine.folder("memory", None, "tmpfs")
    assert found(data, tmpdir=memory) == apart.Found()


def test_where_nothing_is_known_of_the_data_nothing_is_looked_for(machine: Machine) -> None:
    assert found(None, innodb_log_group_home_dir=machine.folder("logs", 2)) == apart.Found()


@pytest.fixture
def drive() -> Iterator[Path]:
    """A file system on a device of its own."""
    with ExitStack() as undo:
        folder = Path(undo.enter_context(tempfile.TemporaryDirectory(prefix="flatwater-test-")))
        place, image = folder / "drive", folder / "image"
        place.mkdir()
        with image.open("wb") as file:
            file.truncate(256 << 20)
        subprocess.run(["mkfs.ext4", "-q", image], check=True)
        made = subprocess.run(["mount", "-o", "loop", image, place], capture_output=True, text=True)
        if made.returncode:
            pytest.skip(f"no loop device can be mounted here: {made.stderr}")
        undo.callback(subprocess.run, ["umount", "--lazy", place], check=True)
        yield place


def logs_on(drive: Path, empty: Path) -> tuple[str, ...]:
    """Options of a server on a copy of `empty`, with the redo log of these data on the drive."""
    logs = drive / "logs"
    logs.mkdir()
    for file in empty.glob("ib_logfile*"):
        shutil.copy(file, logs)
    return f"--innodb-log-group-home-dir={logs}", f"--log-bin={logs / 'b'}"


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a device needs root")
class TestOnADriveOfTheirOwn:
    def test_an_observation_records_it(self, lab: Lab, make_server: MakeServer, drive: Path, empty: Path) -> None:
        server = make_server(*logs_on(drive, empty))
        server.work()
        ran = observe(lab, server.url())
        assert ran.code == 0, ran.stderr
        assert ran.recorded.series("storage", "redolog_write_bytes_per_s").value.max() > 0
        told = ran.summary.layers["storage redolog"]
        assert told.startswith("real: ") and told.endswith("ext4 (redo log, binary log)")
        assert not [gap for gap in ran.summary.gaps if any("log_*" in name for name in gap.figures)]
        page = lab.flatwater("report", ran.out)
        assert page.code == 0, page.stderr

    def test_a_run_records_it(self, servers: ServerLab, make_server: MakeServer, drive: Path, empty: Path) -> None:
        server = make_server(*logs_on(drive, empty))
        server.query("CREATE DATABASE apart")
        ran = servers.go(OLTP, {"url": server.url(), "schema_name": "apart", "load": True})
        assert ran.code == 0, ran.stderr
        assert ran.recorded.series("storage", "redolog_write_bytes_per_s").value.max() > 0
        assert "storage redolog" in ran.summary.layers
