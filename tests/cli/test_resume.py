"""`flatwater resume`: the command that every hint prints works as it is printed, from another directory too."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from lab import FLATWATER, Lab, Ran, journal_lines
from modelledlab import write_modelled

from flatwater.results import open_result
from flatwater.results.lock import LOCK
from flatwater.results.started import Started, read_started, resume_command, shell_word


def told(text: str) -> str:
    """The command of a hint, as a user would copy it."""
    (command,) = [part for line in text.splitlines() for part in line.split("to go on: ")[1:]]
    return command.removesuffix(")")


def type_in(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Types a command in a shell."""
    path = f"{FLATWATER.parent}:{os.environ['PATH']}"
    folder.mkdir(exist_ok=True)
    return subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def interrupted(lab: Lab, file: Path, *arguments: str, out: Path | None = None) -> Ran:
    run = lab.start(file, *arguments, out=out)
    run.until_recorded(3)
    return run.send(signal.SIGINT)


@pytest.mark.parametrize(
    "name",
    [
        "it's $HOME & (more) `x`",
        "-rf",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("out", "a folder", "two  blanks", "line\nbreak", "ünïcode")
        ),
    ],
)
def test_the_printed_command_goes_on(lab: Lab, name: str) -> None:
    """Also for an experiment with a path that counts from where it was begun."""
    file = lab.write({"duration_s": 0.8}, {"path": "data"})
    out = lab.folder / name
    run = lab.start(file, out=Path("./", name) if name.startswith("-") else Path(name))
    run.out = out
    run.until_recorded(3)
    ran = run.send(signal.SIGINT)
    assert ran.code == 130
    lines = journal_lines(out / "cells/0000")
    done = type_in(told(ran.stderr), lab.folder / "elsewhere")
    assert done.returncode == 0, done.stderr
    result = open_result(out)
    assert result.manifest.status == "complete"
    times = result.cells[0].series("workload", "throughput").time_s.tolist()
    assert times[: len(lines)] == [line["time_s"] for line in lines if "metrics" in line]
    assert not list((lab.folder / "elsewhere").iterdir())


def test_with_json(lab: Lab) -> None:
    ran = interrupted(lab, lab.write({"duration_s": 0.8}), "--json")
    command = told(ran.stderr)
    assert command.endswith(" --json")
    done = type_in(command, lab.folder / "elsewhere")
    assert json.loads(done.stdout)["status"] == "complete"


def test_what_was_set_and_the_seed_are_in_the_folder(lab: Lab) -> None:
    file = lab.write({"duration_s": 60})
    ran = interrupted(lab, file, "--set", "workload.duration_s=0.8", "--seed", "9")
    file.unlink()
    assert type_in(told(ran.stderr), lab.folder / "elsewhere").returncode == 0
    assert open_result(ran.out).manifest.seed == 9


@pytest.mark.slow
def test_thousands_of_cells_are_not_asked_about_twice(lab: Lab) -> None:
    file = write_modelled(lab, [float(rate) for rate in range(100, 1200)], duration_s=1)
    run = lab.start(file, "--yes")
    run.until(lambda: len(list(run.out.glob("cells/*/summary.json"))) > 3)
    ran = run.send(signal.SIGINT)
    done = type_in(told(ran.stderr), lab.folder / "elsewhere")
    assert done.returncode == 0, done.stderr


def test_many_experiments(lab: Lab) -> None:
    """Also those that had no folder yet."""
    files = []
    for name in ("one", "two", "three"):
        content = write_modelled(lab, [5000.0], duration_s=300).read_text()
        files.append(lab.folder / f"{name}.toml")
        files[-1].write_text(content)
    out = lab.folder / "together"
    run = lab.start(files[0], *map(str, files[1:]), "--all", "--jobs", "2", out=out)
    run.until(lambda: (out / "three/flatwater.json").exists())
    ran = run.send(signal.SIGINT)
    for file in files:
        file.unlink()
    shutil.rmtree(out / "three")
    command = told(ran.stderr)
    done = type_in(command, lab.folder / "elsewhere")
    assert done.returncode == 0, done.stderr
    for file in files:
        assert open_result(out / file.stem).manifest.status == "complete"


def test_a_run_under_way_is_not_gone_on_with(lab: Lab) -> None:
    """Two of them would write into the same files. Modelled storage has no lock of its own that would tell."""
    file = write_modelled(lab, [60_000.0, 60_001.0], duration_s=36_000)
    run = lab.start(file, "--jobs", "1")
    run.until_recorded(3)
    told = f"{run.out}: process {run.process.pid} runs it already (hint: to follow it: flatwater watch {run.out})"
    for again in (lab.flatwater("resume", run.out), lab.run(file, "--resume", out=run.out)):
        assert again.code == 2 and told in again.error
    assert run.process.poll() is None and run.send(signal.SIGINT).code == 130
    assert not (run.out / LOCK).exists()


def test_neither_are_many_experiments_under_way(lab: Lab) -> None:
    files = []
    for name in ("one", "two"):
        files.append(lab.folder / f"{name}.toml")
        files[-1].write_text(write_modelled(lab, [60_000.0], duration_s=36_000).read_text())
    out = lab.folder / "together"
    run = lab.start(files[0], str(files[1]), "--all", "--jobs", "1", out=out)
    run.until(lambda: (out / "one/cells/0000/journal.jsonl").exists())
    for place in (out, out / "two"):
        again = lab.flatwater("resume", place)
        assert again.code == 2 and f"{out}: process {run.process.pid} runs it already" in again.error
    assert run.send(signal.SIGINT).code == 130
    # One of them alone, and then not all of them.
    alone = lab.start(out / "two", verb="resume")
    alone.until(lambda: (out / "two" / LOCK).exists())
    again = lab.flatwater("resume", out)
    assert again.code == 2 and f"{out / 'two'}: process {alone.process.pid} runs it already" in again.error
    assert alone.send(signal.SIGINT).code == 130


def test_where_it_ran_is_remembered(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "started.json").write_text(Started("tcp://scheduler:8786", 3).to_json(out))
    assert read_started(out) == (Started("tcp://scheduler:8786", 3), Path.cwd())
    assert str(Path.home()) not in (out / "started.json").read_text()


@pytest.mark.parametrize("text", ["[]", "{", '{"on": 1, "jobs": "x", "from": 3}', "", "\xff"])
def test_a_damaged_note_of_it_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "started.json").write_bytes(text.encode("latin-1"))
    assert read_started(tmp_path) == (Started(), None)


def test_nothing_to_go_on_with(lab: Lab) -> None:
    ran = lab.flatwater("resume", lab.folder / "nowhere")
    assert ran.code == 2 and "no such folder" in ran.error
    whole = lab.go()
    again = lab.flatwater("resume", whole.out)
    assert again.code == 0 and "nothing is missing" in again.stderr


def test_a_directory_that_is_gone(lab: Lab) -> None:
    ran = interrupted(lab, lab.write({"duration_s": 60}))
    note = json.loads((ran.out / "started.json").read_text())
    (ran.out / "started.json").write_text(json.dumps(note | {"from": "../no/such"}))
    again = lab.flatwater("resume", ran.out)
    assert again.code == 2 and "which is not there" in again.error


@pytest.mark.parametrize("word", ["a", "a b", "a  b", "\t", "'", "\\", "a'\\\nb", "$x", "é", "\u2028", "a\x01b"])
def test_words_survive_a_shell_and_an_error_s_one_line(word: str) -> None:
    written = " ".join(shell_word(word).split())
    done = subprocess.run(["bash", "-c", f"printf %s {written}"], capture_output=True, check=True)
    assert done.stdout.decode() == word


def test_no_other_way_is_told(lab: Lab) -> None:
    """Whoever says how to go on says the whole command."""
    import flatwater

    source = Path(flatwater.__file__).parent
    for path in source.rglob("*.py"):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            said = "--resume goes on" in line or "--resume repeats" in line or ", then --resume" in line
            assert not said, f"{path}:{number}"
    assert resume_command(Path("/x y")) == "flatwater resume '/x y'"
