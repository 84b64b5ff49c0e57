"""Whatever standard output and standard error are, every verb ends with one line at most, and the right exit code.

The verbs are those of the registry: a new one that is not called here fails the first test.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from calls import Called, Caller
from typer.main import get_command

from flatwater.cli import make_app

SAMPLES = Path(__file__).parents[1] / "results/imports"
EXPERIMENT = """\
name = "small"
[workload]
kind = "fileio"
mode = "rndrd"
duration_s = 1
[storage]
kind = "ssd"
device = "intel-x25-e"
size = "16MiB"
[record]
interval_s = 0.1
"""
IOLOG = "fio version 3 iolog\n0 /dev/sdb add\n0 /dev/sdb open\n100 /dev/sdb write 8192 4096\n200 /dev/sdb close\n"

#: A cheap call of each verb, in the folder that `place` makes. Those that need a running cache or a mount are refused,
#: which is told on standard error.
CALLS = {
    "run": ["run", "small.toml", "--out", "new"],
    "resume": ["resume", "small"],
    "watch": ["watch", "small"],
    "report": ["report", "small", "--out", "new.html"],
    "compare": ["compare", "small", "small"],
    "trend": ["trend", "small"],
    "check": ["check", "small.toml"],
    "list": ["list"],
    "show": ["show", "quick"],
    "export": ["export", "small", "--to", "new.csv"],
    "copy": ["copy", "small", "no/address"],
    "ls": ["ls"],
    "query": ["query", "select run from runs"],
    "tag": ["tag", "small", "kernel=6.12"],
    "import": ["import", "fio.json", "--out", "new"],
    "emulate": ["emulate", "nosuch", "--mount", "mount"],
    "fit": ["fit", "nosuch.toml"],
    "what-if": ["what-if", "small", "--set", "storage.size=8MiB"],
    "advise": ["advise", "small"],
    "health": ["health", "nosuch"],
    "observe": ["observe", "mysql://nobody@127.0.0.1:1/none", "--for", "1s"],
    "tune-up": ["tune-up", "small.toml", "--out", "new"],
    "cost": ["cost", "small"],
    "serve": ["serve", "nosuch"],
    "cache create": ["cache", "create", "fast", "slow", "--name", "new", "--size", "1MiB"],
    "cache start": ["cache", "start", "nosuch", "--mount", "mount"],
    "cache status": ["cache", "status"],
    "cache set": ["cache", "set", "nosuch", "policy=lru"],
    "cache flush": ["cache", "flush", "nosuch"],
    "cache pin": ["cache", "pin", "nosuch", "all"],
    "cache preload": ["cache", "preload", "nosuch", "all"],
    "cache record": ["cache", "record", "nosuch", "new.trace"],
    "cache resize": ["cache", "resize", "nosuch", "32MiB"],
    "cache restart": ["cache", "restart", "nosuch"],
    "cache stop": ["cache", "stop", "nosuch"],
    "cache check": ["cache", "check", "nosuch"],
    "cache drain": ["cache", "drain", "nosuch"],
    "cache destroy": ["cache", "destroy", "nosuch"],
    "snapshots list": ["snapshots", "list", "nosuch"],
    "snapshots check": ["snapshots", "check", "nosuch"],
    "snapshots delete": ["snapshots", "delete", "nosuch", "--all"],
    "trace record": ["trace", "record", "nosuch", "new.trace"],
    "trace show": ["trace", "show", "small.iolog"],
    "trace simulate": ["trace", "simulate", "small.iolog", "--policy", "lru", "--size", "1MiB"],
    "trace convert": ["trace", "convert", "small.iolog", "new.trace"],
}


def _verbs() -> list[str]:
    found = []
    for name, verb in get_command(make_app()).commands.items():  # type: ignore[attr-defined]
        found += [f"{name} {inner}" for inner in getattr(verb, "commands", {})] or [name]
    return found


VERBS = _verbs()


def test_every_verb_is_called() -> None:
    assert not set(VERBS) - set(CALLS), "give the new verb a cheap call here"


@pytest.fixture(scope="module")
def caller() -> Iterator[Caller]:
    with Caller() as made:
        yield made


@pytest.fixture(scope="module")
def original(caller: Caller, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("place")
    (folder / "small.toml").write_text(EXPERIMENT)
    (folder / "small.iolog").write_text(IOLOG)
    (folder / "slow").write_bytes(bytes(2**20))
    shutil.copy(SAMPLES / "fio_2.json", folder / "fio.json")
    ran = caller.call(["run", "small.toml", "--out", "small"], folder)
    assert ran.code == 0, ran
    return folder


def _check(called: Called) -> None:
    for sign in ("Traceback", "panicked", "Exception ignored", "OSError"):
        assert sign not in called.stdout + called.stderr, called
    assert called.code in (0, 1, 2, 130), called
    lines = called.stderr.splitlines()
    errors = [line for line in lines if line.startswith("error: ")]
    assert len(errors) <= 1 and (not errors or lines[-1] == errors[0]), called


@pytest.mark.parametrize("verb", VERBS)
def test_help_onto_a_full_disk(caller: Caller, tmp_path: Path, verb: str) -> None:
    full = caller.call([*verb.split(), "--help"], tmp_path, stdout="full")
    _check(full)
    assert full.code == 1 and "standard output: No space left" in full.stderr


@pytest.mark.parametrize("verb", VERBS)
def test_whatever_the_outputs_are(caller: Caller, original: Path, tmp_path: Path, verb: str) -> None:
    count = 0

    def call(**outputs: str) -> Called:
        nonlocal count
        count += 1
        called = caller.call(CALLS[verb], Path(shutil.copytree(original, tmp_path / str(count))), **outputs)
        _check(called)
        return called

    usual = call()
    full = call(stdout="full")
    if usual.stdout:
        assert full.code == (usual.code or 1), full
        assert "standard output: No space left" in full.stderr, full
    else:
        assert full.code == usual.code
    # Nobody reads it any more; that errors cannot be told changes nothing; nobody wants what it prints.
    unread = call(stdout="broken")
    assert (unread.code, "standard output" in unread.stderr) == (usual.code, False)
    quiet = call(stderr="full")
    assert (quiet.code, bool(quiet.stdout)) == (usual.code, bool(usual.stdout))
    assert call(stdout="closed", stderr="closed").code == usual.code
