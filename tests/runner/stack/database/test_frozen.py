"""A server that is frozen (SIGSTOP, as a machine or a disk that hangs) keeps Ctrl-C waiting in no phase of a run."""

from __future__ import annotations

import ast
import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest
from lab import Ran, Running
from serverlab import OLTP, TPCC, Foreign, ServerLab
from waiting import PATIENCE_S

import flatwater
from flatwater.errors import Interrupted
from flatwater.server import ask

#: Every phase of a run on servers in which one runs. While data are copied, none does.
LOADING = ("make a data directory", "load rows", "settle")
RUNNING = ("start", "warmup", "measure", "check consistency", "stop")
WITHOUT_SERVER = ("copy the data",)
#: Told only if indexes outlast the rows, or transactions the measured time: the same threads are at work.
SOMETIMES = ("build indexes", "drain")
#: These are looked at in `make test`, the others in `make test-slow`.
QUICK = ("start", "check consistency", "stop")
#: Something was measured by then: the data wait to be gone on with.
MEASURED = ("measure", "check consistency")
#: A cell of each phase; and a second one, so that a run that ends after the first was interrupted.
WORKLOAD = {**TPCC, "duration_s": 2, "warmup_s": 1}
SWEEP = {"workload.connections": [2, 3]}


def phase_of(line: str) -> str | None:
    """The phase that a line of progress tells of; None for other lines. A slow phase tells how far it is, too."""
    if not line.startswith("  ") or line.startswith("  loads into "):
        return None
    return re.split("[,:]", line.strip())[0]


def until_told(run: Running, phase: str) -> None:
    """Waits for the line that says that a phase begins."""
    assert run.process.stderr is not None
    for line in run.process.stderr:
        if phase_of(line) == phase:
            return
    raise AssertionError(f"{phase} never came: {run.process.wait()}")


def freeze_all(run: Running) -> None:
    """Stops every program that flatwater has started, as soon as there is one."""
    flatwater = psutil.Process(run.process.pid)
    frozen: list[psutil.Process] = []

    def freeze() -> bool:
        for child in flatwater.children(recursive=True):
            with suppress(psutil.Error):
                # One that is flatwater still has not become a program yet: whoever forks waits for that.
                if child.cmdline() != flatwater.cmdline():
                    child.suspend()
                    frozen.append(child)
        return bool(frozen)

    run.until(freeze)


def check_interrupted(ran: Ran, servers: ServerLab, storage: Path | None = None, *, waiting: int = 0) -> None:
    assert (ran.code, ran.at_once) == (130, True), ran
    assert "interrupted" in ran.error
    servers.check_clean(storage, waiting=waiting)


@pytest.mark.parametrize(
    "phase",
    [pytest.param(phase, marks=[] if phase in QUICK else pytest.mark.slow) for phase in (*LOADING, *RUNNING)],
)
def test_ctrl_c_ends_a_run_on_a_frozen_server(servers: ServerLab, tmp_path: Path, phase: str) -> None:
    storage = servers.storage
    if phase in LOADING:
        storage = tmp_path / "not loaded yet"
        storage.mkdir()
    run = servers.start(servers.write(WORKLOAD, storage=storage, sweep=SWEEP))
    until_told(run, phase)
    freeze_all(run)
    check_interrupted(run.send(signal.SIGINT), servers, storage, waiting=int(phase in MEASURED))


@pytest.mark.slow
def test_no_phase_is_forgotten(servers: ServerLab, tmp_path: Path) -> None:
    """What a whole run tells is what the test above freezes."""
    storage = tmp_path / "not loaded yet"
    storage.mkdir()
    ran = servers.run(servers.write(WORKLOAD, storage=storage))
    assert ran.code == 0, ran.stderr
    told = {phase for line in ran.stderr.splitlines() if (phase := phase_of(line)) is not None}
    phases = {*LOADING, *WITHOUT_SERVER, *RUNNING}
    assert phases <= told <= {*phases, *SOMETIMES}


@pytest.mark.slow
def test_a_restart_that_hangs(servers: ServerLab) -> None:
    """The server is dead, and the one that takes its place is frozen while it starts."""
    run = servers.start(servers.write({**OLTP, "duration_s": 60}, {"on_crash": "restart"}, sweep=SWEEP))
    run.until_recorded(3)
    (server,) = servers.processes()
    server.kill()
    run.until(lambda: server.pid not in [process.pid for process in servers.processes()])
    freeze_all(run)
    check_interrupted(run.send(signal.SIGINT), servers, waiting=1)


@pytest.mark.slow
def test_one_of_two(servers: ServerLab) -> None:
    run = servers.start(servers.write({**OLTP, "duration_s": 60}, {"instances": 2}, settings={}, sweep=SWEEP))
    run.until_recorded(3)
    servers.processes()[1].suspend()
    check_interrupted(run.send(signal.SIGINT), servers, waiting=2)


@contextmanager
def frozen(foreign: Foreign) -> Iterator[None]:
    """Holds a server that is not ours."""
    server = psutil.Process(foreign.instance.pid)
    server.suspend()
    try:
        yield
    finally:
        server.resume()


class TestAttached:
    """A server that somebody else runs is not ended with the run; nobody waits for its answers all the same."""

    def test_before_anything_is_made(self, servers: ServerLab, foreign: Foreign) -> None:
        file = servers.write(OLTP, {"url": foreign.url("mysql")})
        with frozen(foreign):
            run = servers.start(file)
            process = psutil.Process(run.process.pid)
            run.until(lambda: process.net_connections(kind="unix"))
            ran = run.send(signal.SIGINT)
        assert (ran.code, ran.at_once) == (130, True), ran

    @pytest.mark.parametrize(
        "phase",
        [pytest.param(phase, marks=pytest.mark.slow) for phase in ("load rows", "measure", "check consistency")],
    )
    def test_in_a_phase(self, servers: ServerLab, foreign: Foreign, phase: str) -> None:
        schema = foreign.schema("frozen")
        run = servers.start(servers.write({**WORKLOAD, "duration_s": 5}, {"url": foreign.url(schema), "load": True}))
        until_told(run, phase)
        with frozen(foreign):
            ran = run.send(signal.SIGINT)
        assert (ran.code, ran.at_once) == (130, True), ran


class TestAsking:
    def test_an_answer_is_given_and_an_error_is_raised(self) -> None:
        assert ask(lambda: 7) == 7
        with pytest.raises(ZeroDivisionError):
            ask(lambda: 1 // 0)
        with pytest.raises(TimeoutError, match="its own"):
            ask(lambda: (_ for _ in ()).throw(TimeoutError("its own")))

    def test_what_is_not_answered_is_given_up(self) -> None:
        asked, hangs = [], threading.Event()

        def stop() -> bool:
            asked.append(True)
            return len(asked) > 2

        with pytest.raises(Interrupted):
            ask(hangs.wait, stop)
        hangs.set()

    def test_an_answer_within_the_grace_is_taken(self) -> None:
        going_on = threading.Event()

        def stop() -> bool:
            going_on.set()
            return True

        assert ask(lambda: going_on.wait() and "late", stop, grace_s=PATIENCE_S) == "late"


#: Where the engine waits for a server: each of these runs on a thread, through `ask`, a probe's own or a dask worker's.
ON_A_THREAD = {
    ("probe/server/watch.py", "_connect", "Connection"),
    ("runner/hosts/generator.py", "work", "Run.database"),
    ("runner/observation.py", "_unit", "Connection"),
    ("runner/stack/workload/real/observed.py", "answer", "Connection"),
    ("runner/stack/workload/real/transactions.py", "<lambda>", "Run.database"),
    ("runner/stack/workload/real/transactions.py", "<lambda>", "check_consistency"),
    ("server/attach.py", "_describe", "Connection"),
    ("server/instance.py", "_try_login", "Connection"),
    ("server/instance.py", "question", "Connection"),
    ("server/refused.py", "_is_let_in_with_tls", "Connection"),
}


def test_nobody_asks_a_server_on_the_thread_that_hears_ctrl_c() -> None:
    package = Path(flatwater.__file__).parent
    found: set[tuple[str, str, str]] = set()

    def look(node: ast.AST, file: str, function: str) -> None:
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            function = getattr(node, "name", "<lambda>")
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called in ("Connection", "Run.database", "check_consistency"):
                found.add((file, function, called))
        for child in ast.iter_child_nodes(node):
            look(child, file, function)

    for path in package.rglob("*.py"):
        text = path.read_text()
        if "flatwater._engine" in text:
            look(ast.parse(text), str(path.relative_to(package)), "")
    assert found == ON_A_THREAD
