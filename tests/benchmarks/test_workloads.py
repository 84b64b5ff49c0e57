"""The page of what transactions cost on each server: it is what the files of `workloads/` say."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.servers.registry import SERVERS
from benchmarks.workloads.__main__ import main
from benchmarks.workloads.measure import names, plan
from benchmarks.workloads.page import PAGE, measured_servers, page

from flatwater.errors import UserError
from flatwater.experiment import load
from flatwater.experiment.database.generation import SERIES
from flatwater.experiment.database.measured import load_workload, workload_files
from flatwater.server import Binary


def test_the_page_is_as_the_files_are() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "python -m benchmarks.workloads writes it again"


@pytest.mark.parametrize("name", sorted(workload_files()))
def test_every_file_is_a_row(name: str) -> None:
    measured = load_workload(name)
    assert measured in measured_servers(measured.workload)
    rows = [
        line
        for line in page().splitlines()
        if line.startswith("| ") and measured.server.split()[1].split("-")[0] in line
    ]
    assert any(f"{measured.statements.value:.1f}" in row for row in rows)
    redo = next(iter(measured.redo_bytes.values())).value
    assert any(f" {redo:,.0f} " in row for row in rows)


def test_every_series_has_its_file_and_what_is_only_near_is_told() -> None:
    lines = page().splitlines()
    for series in SERIES:
        (row,) = [line for line in lines if line.startswith(f"| {series.name} | {series.generation} |")]
        for kind in ("tpcc", "oltp"):
            near = "" if series.is_measured(kind) else ", the nearest"
            assert f" {series.measured(kind)}{near} " in row


def test_what_is_measured_are_the_files_that_there_are() -> None:
    assert names() == sorted(workload_files())
    assert {name.partition("-")[2] for name in names()} <= {server.name for server in SERVERS}


@pytest.mark.parametrize("name", names())
def test_a_file_is_measured_with_its_experiment(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kind, _, server = name.partition("-")
    flavour, _, version = server.partition("-")
    major, minor = (int(part) for part in version.split("."))
    here = Binary(tmp_path / "mysqld", flavour, (major, minor, 0), f"{version}.0")
    monkeypatch.setattr("benchmarks.workloads.measure.locate", lambda server: here)
    run = plan(name)
    assert run.command(tmp_path)[1:3] == ["run", run.experiment]
    assert load_workload(name).experiment == run.experiment, "as the file says"
    experiment = load(run.experiment, (*run.sets, f"storage.path={tmp_path}"))
    assert experiment.workload.kind == kind


def test_a_server_that_is_not_here_is_told_before_anything_is_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("benchmarks.workloads.measure.locate", lambda server: None)
    monkeypatch.setattr("subprocess.run", lambda *_, **__: pytest.fail("it was started"))
    monkeypatch.setattr("benchmarks.workloads.__main__.PAGE", tmp_path / "page.md")
    with pytest.raises(UserError, match=r"mysql-8\.0 is not here"):
        plan("tpcc-mysql-8.0")
    assert main(["measure", "tpcc-mysql-8.0", "--dir", str(tmp_path)]) == 2
    assert "mysql-8.0 is not here" in capsys.readouterr().err
    assert main(["measure", "tpcc-mysql-8.1", "--dir", str(tmp_path)]) == 2
    assert "no model takes tpcc-mysql-8.1 (hint: one of oltp-mariadb-10.11, " in capsys.readouterr().err
    assert not [*tmp_path.iterdir()], "nothing is written"
