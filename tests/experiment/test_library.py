from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from flatwater.errors import FlatwaterError, UserError
from flatwater.experiment import LibraryEntry, Oltp, Tpcc, library, load, longest_s, published_for, require_runnable
from flatwater.experiment.cache import FlashCache
from flatwater.experiment.cells import iter_cells
from flatwater.experiment.library import library_dir, library_files
from flatwater.server import find_server, translate

ENTRIES = library()
MODELLED = [entry for entry in ENTRIES if entry.layers["storage"] == "modelled"]
#: Modelled storage in real time: a real workload on a served file, so that a place for it must be given.
EMULATED = [entry for entry in MODELLED if entry.layers["workload"] == "real"]


def test_the_library_is_whole() -> None:
    assert [entry.name for entry in ENTRIES if entry not in MODELLED] == [
        "binlog-sync",
        "card-async-read",
        "card-threads",
        "card-write-curve",
        "demo-tpcc",
        "demo",
        "dirty-limit",
        "disk",
        "doublewrite",
        "file-systems",
        "fill-level",
        "fit-workload-5.5-oltp",
        "fit-workload-5.5-tpcc",
        "fit-workload-mysql-oltp",
        "fit-workload-mysql-tpcc",
        "fit-workload-oltp",
        "fit-workload-tpcc",
        "fsync",
        "instances",
        "io-capacity",
        "latency-at-rate",
        "log-block",
        "memory",
        "neighbours",
        "oltp-quick",
        "own-sql",
        "quick",
        "raid-basics",
        "reconnect",
        "redo-log",
        "snia-iops",
        "sysbench-tpcc-quick",
        "tpcc-memory",
        "tpcc-quick",
        "tproc-c-quick",
        "trx-commit",
    ]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_each_says_what_it_is_and_runs_anywhere(entry: LibraryEntry) -> None:
    experiment = load(entry.path)
    assert experiment.title and experiment.about
    assert experiment.storage.path is None
    text = entry.path.read_text()
    assert text.startswith("# ")
    if entry in EMULATED:
        assert f"flatwater run {entry.name} --set storage.path=" in text
    elif entry in MODELLED:
        require_runnable(experiment)
        assert f"flatwater run {entry.name}" in text
    else:
        assert experiment.files.overwrite is False
        assert f"flatwater run {entry.name} --set storage.path=" in text
    # TOML lets no inline table go on in another line.
    assert all(
        len(line) <= 120 or line.lstrip().startswith(("set = {", "relative_to = {", "{", '"'))
        for line in text.splitlines()
    )


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_what_destroys_says_so(entry: LibraryEntry) -> None:
    text = entry.path.read_text()
    assert ("storage.overwrite=true" in text) == bool(re.search("DESTROYS", text))


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_every_published_figure_stands_beside_a_cell(entry: LibraryEntry) -> None:
    experiment = load(entry.path)
    beside = [id(figure) for cell in iter_cells(experiment) for figure in published_for(experiment, cell.set)]
    assert set(beside) == {id(figure) for figure in experiment.published}


def test_the_published_fill_levels() -> None:
    experiment = load("fill-level")
    main = {cell.set["storage.fill"]: cell.experiment.published[0] for cell in iter_cells(experiment)}
    assert {fill: figure.value for fill, figure in main.items()} == {0.2: 990, 0.4: 964, 0.6: 783, 0.8: 611, 1.0: 417}
    assert {figure.unit for figure in main.values()} == {"MiB/s"}


def test_the_short_ones_are_short() -> None:
    longest = {entry.name: entry.longest_s for entry in ENTRIES}
    assert longest["demo"] <= 60
    assert longest["quick"] <= 30
    assert longest["demo-tpcc"] <= 90
    assert longest["tpcc-quick"] <= 30
    assert longest["oltp-quick"] <= 30


def test_the_cells_of_disk_are_what_they_are_called() -> None:
    experiment = load("disk")
    assert longest_s(experiment) <= 11 * 60
    cells = [cell.experiment for cell in iter_cells(experiment)]
    assert len(cells) == len(experiment.report.names)
    in_flight = {}
    for name, cell in zip(experiment.report.names, cells, strict=True):
        workload = cell.fileio
        in_flight[name] = workload.threads * workload.queue_depth
        assert name.startswith(("read", "write", "log", "mixed", "sustained"))
        if name.startswith("log"):
            assert (workload.mode, workload.fsync, workload.fsync_call) == ("seqrewr", "every-write", "fdatasync")
            assert workload.block_size == (512 if "512 B" in name else 4096)
        else:
            assert (workload.block_size, workload.direct, workload.fsync_every > 0) == (16384, True, name[:4] != "read")
    assert [in_flight[name] for name in experiment.report.names] == [1, 8, 64, 1, 8, 64, 1, 8, 1, 8, 16, 32]
    # The file serves all cells, and is gone when the last one ends.
    assert [cell.files.keep for cell in cells] == [True] * 11 + [False]


ON_SERVERS = [entry for entry in ENTRIES if entry.layers["database"] == "real"]


@pytest.mark.parametrize("entry", ON_SERVERS, ids=lambda entry: entry.name)
def test_what_runs_a_server_runs_in_minutes_on_a_laptop(entry: LibraryEntry) -> None:
    experiment = load(entry.path)
    assert entry.longest_s <= 15 * 60
    workload = experiment.transactions
    # A row of sysbench's is at most 240 bytes with its index, a warehouse about 100 MB.
    data = workload.warehouses * 100e6 if isinstance(workload, Tpcc) else 0.0
    data = workload.rows * workload.tables * 240 if isinstance(workload, Oltp) else data
    assert data <= 2e9
    assert "`--set scale=" in entry.path.read_text().replace("\n# ", " ") or entry.name.startswith("demo")


@pytest.mark.parametrize("entry", ON_SERVERS, ids=lambda entry: entry.name)
def test_what_runs_a_server_takes_hours_on_a_card(entry: LibraryEntry) -> None:
    small, large = load(entry.path), load(entry.path, ["scale=50"])
    assert longest_s(large) == pytest.approx(50 * longest_s(small))
    assert (large.storage.path, large.transactions.connections) == (small.storage.path, small.transactions.connections)


@pytest.mark.parametrize("entry", ON_SERVERS, ids=lambda entry: entry.name)
def test_a_server_s_experiment_needs_a_directory_only(entry: LibraryEntry, tmp_path: Path) -> None:
    experiment = load(entry.path)
    own = [f"cache.storage.path={tmp_path}"] if isinstance(experiment.cache, FlashCache) else []
    own += [f"database.storages.{name}.path={tmp_path}" for name in experiment.server.storages]
    require_runnable(load(entry.path, [f"storage.path={tmp_path}", *own]))


@pytest.mark.parametrize("name", ["oltp-quick", "tpcc-quick"])
def test_the_quick_ones_measure_a_server_that_runs_already(name: str) -> None:
    overrides = ["database.settings={}", "database.url=mysql://USER@HOST/", "database.load=true"]
    text = (library_dir() / f"{name}.toml").read_text()
    assert f"flatwater run {name} {' '.join(f'--set {override}' for override in overrides)}\n" in text
    require_runnable(load(name, overrides))


def test_the_published_figures_of_servers() -> None:
    figures = {
        (entry.name, *cell.set.values()): cell.experiment.published[0].value
        for entry in ON_SERVERS
        for cell in iter_cells(load(entry.path))
        if cell.experiment.published and cell.experiment.published[0].relative_to is None
    }
    assert figures == {
        ("dirty-limit", 1, 15): 37235.06,
        ("dirty-limit", 1, 50): 41257.6,
        ("dirty-limit", 1, 60): 37509.73,
        ("dirty-limit", 0, 50): 63898.13,
        ("dirty-limit", 0, 60): 64501.33,
        ("doublewrite", 1): 41257.6,
        ("doublewrite", 0): 63898.13,
        ("log-block", 512): 38090.66,
        ("log-block", 4096): 49130.13,
        ("memory", "read_only", "480M"): 1866.87,
        ("memory", "read_write", "480M"): 2547.69,
    }


def test_directories_of_file_systems_are_swept_as_the_comment_says() -> None:
    experiment = load("file-systems", ['sweep.storage.path=["/mnt/ext4/flatwater", "/mnt/xfs/flatwater"]'])
    paths = [cell.experiment.storage.path for cell in iter_cells(experiment)]
    assert sorted({path for path in paths if path}) == ["/mnt/ext4/flatwater", "/mnt/xfs/flatwater"]
    assert len(paths) == 4


@pytest.mark.parametrize("entry", ON_SERVERS, ids=lambda entry: entry.name)
def test_the_server_of_this_machine_has_every_setting(entry: LibraryEntry) -> None:
    try:
        binary = find_server(None)
    except UserError as error:
        pytest.skip(str(error))
    for cell in iter_cells(load(entry.path)):
        assert translate(cell.experiment.server.settings, binary)


def test_an_installed_package_finds_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site" / "flatwater"
    (package / "experiment").mkdir(parents=True)
    # The package's own name for it is the function.
    module = sys.modules["flatwater.experiment.library"]
    monkeypatch.setattr(module, "__file__", str(package / "experiment" / "library.py"))
    with pytest.raises(FlatwaterError, match="library is missing"):
        library_dir()
    (package / "experiments").mkdir()
    (package / "experiments" / "mine.toml").touch()
    assert list(library_files()) == ["mine"]
