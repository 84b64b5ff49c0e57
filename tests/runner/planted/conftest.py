"""Running what is planted: the places of the data, and what runs beside."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import tomli_w
from serverlab import ServerLab

sys.path.insert(0, str(Path(__file__).parent))  # the import mode of pytest does not
from faults import Consult, Healthy, Planted, Tables

from flatwater.advise.adviser import Consultation, consult
from flatwater.errors import UserError
from flatwater.experiment import make_experiment
from flatwater.results import open_result
from flatwater.runner.executors import make_executor
from flatwater.runner.progress import SilentReporter
from flatwater.runner.stack.served.mounts import require_fuse
from flatwater.runner.sweep import run_experiment

#: What a copier writes again and again, MiB.
_COPIED_MIB = 256


@pytest.fixture
def modelled(tmp_path: Path) -> Consult:
    """Runs it in virtual time, and asks for advice."""

    def run(planted: Planted | Healthy) -> Consultation:
        out, experiment = tmp_path / "result", make_experiment({"name": "planted", **planted.tables})
        run_experiment(experiment, out, SilentReporter(), lambda *_: None, executor=make_executor("local", 1))
        return consult(open_result(out))

    return run


@pytest.fixture
def real(servers: ServerLab, as_root: None, request: pytest.FixtureRequest) -> Consult:
    """Runs it on this machine, and asks for advice."""

    def run(planted: Planted | Healthy) -> Consultation:
        ground: Path = servers.storage
        if isinstance(planted, Planted):
            if planted.ground:
                ground = request.getfixturevalue(planted.ground)
            if planted.beside:
                request.getfixturevalue(planted.beside)
        tables = {layer: _placed(layer, table, ground) for layer, table in planted.tables.items()}
        file = servers.lab.folder / "planted.toml"
        file.write_text(tomli_w.dumps({"storage": {"path": str(ground)}, "record": {"interval_s": 1.0}, **tables}))
        ran = servers.run(file, "--yes")
        assert ran.cell["status"] == "complete", ran.cell["error"]
        return consult(open_result(ran.out))

    return run


def _placed(layer: str, table: Tables, ground: Path) -> Tables:
    """The table of a layer with the path of its storage."""
    if layer == "cache":
        return {**table, "storage": _placed("storage", table["storage"], ground / "cache")}
    if layer != "storage":
        return table
    if not table.get("real_time"):
        return {**table, "path": str(ground)}
    try:
        require_fuse()
    except UserError as error:
        pytest.skip(str(error))
    # What is loaded on a device stays on it, for other runs on the same.
    words = [
        str(table[name]) for name in ("device", "capacity_scale", "size", "initial", "file_system") if name in table
    ]
    place = ground / "emulated" / "-".join(words)
    place.mkdir(parents=True, exist_ok=True)
    return {**table, "path": str(place)}


@pytest.fixture
def memory(tmpfs: Callable[[int], Path]) -> Path:
    """A file system that is faster than any client."""
    return tmpfs(512)


@pytest.fixture
def journalled(device: Callable[..., Path], mount: Callable[..., Path]) -> Path:
    """A file system that writes data into its journal first."""
    return mount(device(2048, "ext4"), "-o", "data=journal")


@pytest.fixture
def ext2(device: Callable[..., Path], mount: Callable[..., Path]) -> Path:
    """A file system without a journal."""
    return mount(device(2048, "ext2"))


@pytest.fixture
def fair(device: Callable[..., Path], mount: Callable[..., Path], undo: ExitStack) -> Path:
    """A device below a scheduler for desktops."""
    disk = device(2048, "ext4")
    queue = Path("/sys/block", disk.name, "queue/scheduler")
    if "bfq" not in queue.read_text():
        pytest.skip("this kernel has no bfq for loop devices")
    # The next who gets this loop device gets its scheduler, too.
    undo.callback(queue.write_text, _chosen(queue.read_text()))
    queue.write_text("bfq")
    return mount(disk)


def _chosen(words: str) -> str:
    """The scheduler in use, of `none [mq-deadline] bfq`."""
    return words.partition("[")[2].partition("]")[0]


@pytest.fixture
def copier(storage: Path, stranger: Callable[[str], None]) -> Iterator[None]:
    """A program that writes to the device of the data all the time."""
    target = storage / "copied"
    write = f"dd if=/dev/zero of='{target}' bs=1M count={_COPIED_MIB} oflag=direct conv=notrunc status=none"
    stranger(f"while :; do {write}; done")
    yield
    target.unlink(missing_ok=True)
