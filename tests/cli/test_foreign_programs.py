"""What a result names is never run by who only reads the result: a policy of Python, the server of a path."""

from __future__ import annotations

import json
import pickle
import shutil
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import typer
from lab import Lab, Ran

import flatwater as fw
from flatwater.advise import consult, verify, with_effects
from flatwater.cli import make_app
from flatwater.errors import UserError
from flatwater.experiment import load
from flatwater.experiment.cells import cell_at
from flatwater.experiment.programs import SERVERS, programs_of, require_allowed
from flatwater.results import open_result
from flatwater.runner.progress import SilentReporter
from flatwater.server import server_of

#: It tells a file beside it that it was run.
POLICY = """\
from pathlib import Path

Path(__file__).with_name("ran").touch()


class Mine:
    def round(self, view):
        return 1
"""
EXPERIMENT = """\
[workload]
kind = "tpcc"
warehouses = 1
connections = 8
warmup_s = 1
duration_s = 40
[database]
kind = "innodb-model"
{flushing}
[database.settings]
innodb_buffer_pool_size = "64M"
innodb_log_file_size = "4M"
[storage]
kind = "ssd"
device = "intel-910-2x200"
capacity_scale = 0.02
{sweep}
"""
#: How the policy is named: of the whole run, and of one of its cells.
NAMED = {
    "alone": {"flushing": 'flushing = "POLICY:Mine"', "sweep": ""},
    "swept": {"flushing": "", "sweep": '[sweep]\n"database.flushing" = ["native", "POLICY:Mine"]'},
}

#: Verb -> its arguments for a result (R), or for its experiment (E): all of them only read.
READING = {
    "advise": ["R", "--cell", "CELL"],
    "check": ["E"],
    "compare": ["R", "R"],
    "copy": ["R", "COPY"],
    "cost": ["R"],
    "export": ["R", "--to", "COPY.json"],
    "fit": ["workload", "R"],
    "list": [],
    "ls": ["R"],
    "query": ["select count(*) from series", "--in", "R"],
    "report": ["R", "--force"],
    "show": ["E"],
    "tag": ["R", "kernel=6.12"],
    "trend": ["R"],
    "watch": ["R"],
    "what-if": ["R", "--cell", "CELL"],
}
#: Verbs that run the experiment of the file or of the result that they are given, and what it names.
RUNNING = {"run", "resume", "tune-up"}
#: Verbs that take neither; `serve` is tried in tests/serve.
OTHERS = {"cache", "emulate", "health", "import", "observe", "serve", "snapshots", "trace"}


@pytest.fixture(scope="module", params=sorted(NAMED))
def foreign(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A result in `result`, whose experiment names a policy; the policy was run for it."""
    with closing(Lab(tmp_path_factory.mktemp("foreign"))) as lab:
        (lab.folder / "policy.py").write_text(POLICY)
        text = EXPERIMENT.format(**NAMED[request.param]).replace("POLICY", str(lab.folder / "policy.py"))
        (lab.folder / "mine.toml").write_text(text)
        assert lab.run(lab.folder / "mine.toml", out=lab.folder / "result").code == 0
        assert ran(lab), "a run of the user's own file runs it"
        yield lab


def ran(lab: Lab) -> bool:
    """Whether the policy was run since it was asked last."""
    marker = lab.folder / "ran"
    there = marker.exists()
    marker.unlink(missing_ok=True)
    return there


def call(lab: Lab, verb: str, arguments: list[str]) -> Ran:
    result = lab.folder / "result"
    last = len(open_result(result).cells) - 1
    stand_for = {"R": str(result), "E": str(result / "experiment.toml"), "CELL": str(last)}
    stand_for |= {"COPY": str(lab.folder / f"copy-{verb}"), "COPY.json": str(lab.folder / f"copy-{verb}.json")}
    return lab.flatwater(verb, *(stand_for.get(one, one) for one in arguments))


def test_every_verb_is_known_here() -> None:
    app = typer.main.get_command(make_app())
    assert set(app.commands) == READING.keys() | RUNNING | OTHERS  # type: ignore[attr-defined]


@pytest.mark.parametrize("verb", sorted(READING))
def test_a_verb_that_reads_a_result_runs_nothing_that_it_names(foreign: Lab, verb: str) -> None:
    told = call(foreign, verb, READING[verb])
    why_not = {
        "copy": "neither is s3://",  # one of the two must be
        "fit": "modelled",  # it tells no costs of transactions
        "watch": "the run is over",
        "what-if": "modelled",  # it has no twin
    }
    assert told.code == (2 if verb in why_not else 0) and why_not.get(verb, "") in told.stderr, told
    assert not ran(foreign)


def test_advise_says_how_its_program_is_let_run(foreign: Lab) -> None:
    told = call(foreign, "advise", ["R", "--cell", "CELL", "--json"])
    advice = json.loads(told.stdout)["advice"]
    named = [one["no_effect"] for one in advice if "names a program" in (one["no_effect"] or "")]
    assert named and all("--trust" in one for one in named)
    assert not ran(foreign)


def test_advise_verify_runs_it_only_where_the_user_says_so(foreign: Lab) -> None:
    cell = str(len(open_result(foreign.folder / "result").cells) - 1)
    arguments = ("advise", foreign.folder / "result", "--cell", cell, "--no-predict", "--verify")
    refused = foreign.flatwater(*arguments)
    assert refused.code == 2
    assert "is a program that the experiment names" in refused.error and "--trust" in refused.error
    assert not ran(foreign)
    assert foreign.flatwater(*arguments, "--trust").code == 0
    assert ran(foreign)


def test_effects_and_verifying_from_python_run_it_only_where_asked(foreign: Lab) -> None:
    result = open_result(foreign.folder / "result")
    told = consult(result, len(result.cells) - 1)
    with_effects(told, lambda _: None, 1.0)
    first = next(one for one in told.advice if one.change.overrides)
    with pytest.raises(UserError, match="is a program that the experiment names"):
        verify(told.cell, first, SilentReporter(), foreign.folder / "verified")
    assert not ran(foreign) and not (foreign.folder / "verified").exists()
    with_effects(told, lambda _: None, 5.0, programs=True)
    assert ran(foreign)


def test_a_notebook_runs_it_for_fw_run_only(foreign: Lab) -> None:
    result = foreign.folder / "result"
    loaded = fw.load(result)
    loaded.series()
    fw.compare(result, result)
    with pytest.raises(UserError):
        fw.what_if(result, cell=len(open_result(result).cells) - 1)
    assert not ran(foreign)
    fw.run(foreign.folder / "mine.toml", {"workload.duration_s": 2}, out=foreign.folder / "again")
    assert ran(foreign)


def test_a_program_that_a_manifest_names_is_not_run(foreign: Lab, tmp_path: Path) -> None:
    """The swept values of a cell are in the manifest, and are made fields of its experiment."""
    result = tmp_path / "result"
    shutil.copytree(foreign.folder / "result", result)
    experiment = result / "experiment.toml"
    text = experiment.read_text().replace(f"{foreign.folder / 'policy.py'}:Mine", "native")
    experiment.write_text(text)
    manifest = json.loads((result / "flatwater.json").read_text())
    manifest["cells"][-1]["set"] = {"database.flushing": f"{foreign.folder / 'policy.py'}:Mine"}
    (result / "flatwater.json").write_text(json.dumps(manifest))
    summary = json.loads((result / "summary.json").read_text())
    summary["cells"][-1]["set"] = manifest["cells"][-1]["set"]
    (result / "summary.json").write_text(json.dumps(summary))
    last = str(len(manifest["cells"]) - 1)
    foreign.flatwater("advise", result, "--cell", last, "--verify")
    assert not ran(foreign)


def test_no_file_and_no_override_lets_programs_run(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("lets_programs_run = true\n" + EXPERIMENT.format(flushing="", sweep=""))
    with pytest.raises(UserError, match="unknown field"):
        load(tmp_path / "mine.toml")
    text = EXPERIMENT.format(flushing="_lets_programs_run = true", sweep="")
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(UserError):
        load(tmp_path / "mine.toml")


def test_a_cell_and_a_copy_of_an_experiment_have_what_it_has(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(EXPERIMENT.format(**NAMED["swept"]).replace("POLICY", "nowhere.py"))
    for programs in (False, True):
        experiment = load(tmp_path / "mine.toml", programs=programs)
        cells = [cell_at(experiment, index).experiment for index in range(2)]
        sent = pickle.loads(pickle.dumps(experiment))  # to workers of a cluster
        copies = [experiment.model_copy(update={"repeat": 2}), sent, *cells]
        assert [one.lets_programs_run for one in copies] == [programs] * 4
        assert list(programs_of(cells[0])) == []
        assert list(programs_of(cells[1])) == [("database.flushing", "nowhere.py:Mine")]


@pytest.fixture
def server(tmp_path: Path) -> Path:
    """A program that tells a file beside it that it was run, and calls itself a server."""
    path = tmp_path / "mysqld-mine"
    path.write_text(f'#!/bin/sh\ntouch {tmp_path}/ran\necho "mysqld  Ver 8.0.36 for Linux (MySQL Community Server)"\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_a_server_of_a_path_is_run_only_for_a_run_of_the_file(server: Path, tmp_path: Path) -> None:
    overrides = [f"database.binary={server}", f"storage.path={tmp_path}"]
    with pytest.raises(UserError, match=r"database\.binary"):
        server_of(load("tpcc-quick", overrides))
    assert not (tmp_path / "ran").exists()
    assert server_of(load("tpcc-quick", overrides, programs=True)).path == server
    assert (tmp_path / "ran").exists()


def test_servers_of_packages_are_no_program_of_the_experiment() -> None:
    for name in SERVERS:
        require_allowed(load("tpcc-quick", [f"database.binary={name}"]))
    require_allowed(load("tpcc-quick"))


def test_check_runs_no_server(server: Path, tmp_path: Path, lab: Lab) -> None:
    checked = lab.flatwater(
        "check", "tpcc-quick", "--set", f"database.binary={server}", "--set", f"storage.path={tmp_path}"
    )
    assert checked.code == 0
    assert not (tmp_path / "ran").exists()
