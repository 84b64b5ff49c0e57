"""Runs that a server started: real processes of `flatwater run`, a few MiB large."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from servelab import PATIENCE_S, wait_for

from flatwater.experiment.library import library_files
from flatwater.results import open_result
from flatwater.results.opening import read_manifest
from flatwater.results.stored import exists
from flatwater.serve.launch import launcher as launcher_module
from flatwater.serve.launch.child import Child
from flatwater.serve.launch.launcher import Busy, Launcher
from flatwater.serve.launch.wish import Wish, checked

#: A run that measures until it is told to end, and a modelled one of minutes.
LONG = (
    "workload.queue_depth=1",
    "workload.engine=psync",
    "workload.warmup_s=0",
    "workload.duration_s=500",
    "storage.size=1MiB",
    "record.interval_s=0.1",
)
MODELLED = ("sweep.storage.fill=[0.5]", "workload.duration_s=100000")


@pytest.fixture
def launcher(tmp_path: Path) -> Iterator[Launcher]:
    (tmp_path / "results").mkdir()
    found = Launcher(tmp_path / "results")
    yield found
    for _ in range(2):
        found.interrupt()
    found.end()


def start(launcher: Launcher, name: str, *lines: str, others: Sequence[Path] = ()) -> Child:
    wish = Wish(library_files()[name], lines)
    found, problems = checked(wish)
    assert found is not None, problems
    under_way = [*others, *(child.folder for child in launcher.started() if child.alive)]
    return launcher.start(wish, found, lambda: under_way)


def real(launcher: Launcher, tmp_path: Path) -> Child:
    return start(launcher, "quick", f"storage.path={tmp_path}", *LONG)


def failing(launcher: Launcher, tmp_path: Path) -> Child:
    """A run whose directory was deleted after the check."""
    place = tmp_path / "not" / "there"
    place.mkdir(parents=True)
    wish = Wish(library_files()["quick"], (f"storage.path={place}", *LONG))
    found, problems = checked(wish)
    assert found is not None, problems
    shutil.rmtree(place.parent)
    under_way = [child.folder for child in launcher.started() if child.alive]
    return launcher.start(wish, found, lambda: under_way)


def modelled(launcher: Launcher) -> Child:
    return start(launcher, "fill-level-tachion-400", *MODELLED)


def measures(child: Child) -> bool:
    """Whether seconds were recorded; a run that ended instead is told with what it said."""
    assert child.alive, child.said()
    return any(one.stat().st_size > 1000 for one in child.folder.glob("cells/*/journal.jsonl"))


def test_a_run_is_stopped_as_by_ctrl_c(launcher: Launcher, tmp_path: Path) -> None:
    child = real(launcher, tmp_path)
    assert child.folder.parent == tmp_path / "results" and child.state == "it runs"
    wait_for(lambda: measures(child))
    assert launcher.stop(child.key) and launcher.stop(child.key) and child.stopping
    wait_for(lambda: not child.alive)
    assert child.code == 130 and child.state == "it was interrupted"
    assert read_manifest(child.folder).status == "interrupted"
    assert "flatwater resume" in child.said()
    # Whole: what was measured can be read, and gone on with.
    assert len(open_result(child.folder).cells[0].measured("workload", "throughput").value) > 0
    # One that is over is sent nothing.
    assert launcher.stop(child.key)


def test_only_what_was_started_here_is_stopped(launcher: Launcher, tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "1000"]) as other:
        assert not launcher.stop("0000000000000000") and not launcher.stop(str(other.pid))
        assert other.poll() is None
        other.kill()


def test_a_process_that_has_ended_is_sent_nothing(
    launcher: Launcher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = failing(launcher, tmp_path)
    os.waitid(os.P_PID, child.process.pid, os.WEXITED | os.WNOWAIT)
    # It was not asked for yet: its number is still its own, and nobody else's process.
    assert Path(f"/proc/{child.process.pid}").exists()
    sent: list[int] = []
    monkeypatch.setattr(os, "kill", lambda *told: sent.append(told))
    child.interrupt()
    assert not sent and not child.stopping


def test_what_a_run_said_is_kept(launcher: Launcher, tmp_path: Path) -> None:
    child = failing(launcher, tmp_path)
    child.wait()
    assert not child.alive and child.state in ("it failed", "it was refused")
    assert f"{tmp_path}/not" in child.said() and "error:" in child.said()


def test_a_measurement_is_alone(launcher: Launcher, tmp_path: Path) -> None:
    child = real(launcher, tmp_path)
    for begin in (lambda: real(launcher, tmp_path), lambda: modelled(launcher)):
        with pytest.raises(Busy, match="is being measured"):
            begin()
    launcher.interrupt()
    child.wait()


def test_models_are_few_and_nothing_is_measured_beside_them(launcher: Launcher, tmp_path: Path) -> None:
    for _ in range(launcher_module.RUNS_MAX):
        modelled(launcher)
    with pytest.raises(Busy, match="2 runs are being computed"):
        modelled(launcher)
    with pytest.raises(Busy, match="would disturb what this run measures"):
        real(launcher, tmp_path)


def test_a_run_from_elsewhere_is_not_disturbed(launcher: Launcher, tmp_path: Path) -> None:
    with pytest.raises(Busy, match="'nightly' is under way, started elsewhere"):
        start(launcher, "quick", f"storage.path={tmp_path}", *LONG, others=[Path("/elsewhere/nightly")])
    assert not launcher.started()


def test_a_run_that_was_begun_here_and_goes_on_in_a_terminal_is_not_disturbed(
    launcher: Launcher, tmp_path: Path
) -> None:
    child = failing(launcher, tmp_path)
    child.wait()
    with pytest.raises(Busy, match="started elsewhere"):
        start(launcher, "quick", f"storage.path={tmp_path}", *LONG, others=[child.folder])


def test_two_that_start_at_once_do_not_both_measure(launcher: Launcher, tmp_path: Path) -> None:
    refused: list[Busy] = []

    def begin() -> None:
        try:
            real(launcher, tmp_path)
        except Busy as error:
            refused.append(error)

    threads = [threading.Thread(target=begin) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert len(launcher.started()) == 1 and len(refused) == 3


def test_the_end_interrupts_and_waits(launcher: Launcher, tmp_path: Path) -> None:
    child = real(launcher, tmp_path)
    wait_for(lambda: exists(child.folder / "flatwater.json"))
    assert launcher.end() == [child]
    assert child.code == 130 and read_manifest(child.folder).status == "interrupted"
    with pytest.raises(Busy, match="ending"):
        real(launcher, tmp_path)


def test_those_that_are_over_are_forgotten_after_a_while(
    launcher: Launcher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launcher_module, "OVER_MAX", 1)
    for _ in range(3):
        failing(launcher, tmp_path).wait()
    assert len(launcher.started()) == 2


_NICED = """
import os, resource, signal, sys, time
signal.signal(signal.SIGINT, signal.SIG_IGN)  # as of nohup, or of a shell's background
from pathlib import Path
from flatwater.serve.launch.launcher import Launcher
from flatwater.serve.launch.wish import Wish, checked
before = resource.getrlimit(resource.RLIMIT_NOFILE)
launcher = Launcher(Path(sys.argv[1]))
os.nice(5)
resource.setrlimit(resource.RLIMIT_NOFILE, (before[0] - 7, before[1]))
wish = Wish(Path(sys.argv[2]), tuple(sys.argv[3:]))
child = launcher.start(wish, checked(wish)[0], list)
while not list(child.folder.glob("cells/*/journal.jsonl")) and child.alive:
    time.sleep(0.05)
print(os.getpriority(os.PRIO_PROCESS, child.process.pid) - os.getpriority(os.PRIO_PROCESS, 0))
print(resource.prlimit(child.process.pid, resource.RLIMIT_NOFILE) == before)
launcher.end()
print(child.code)
"""


def test_a_run_is_as_one_from_a_terminal(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _NICED, str(tmp_path), str(library_files()["quick"])]
    ran = subprocess.run(
        [*command, f"storage.path={tmp_path}", *LONG], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    # The server stood back by five, and took other limits; Ctrl-C is heard all the same.
    assert ran.stdout.split() == ["-5", "True", str(128 + signal.SIGINT)], ran.stderr
