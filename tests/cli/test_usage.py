"""Wrong arguments of every verb are told in one line, in our words, with what helps."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from calls import Called, Caller
from typer.main import get_command

from flatwater.cli import make_app
from flatwater.errors import UserError


def _verbs() -> dict[str, Any]:
    found = {}
    for name, verb in get_command(make_app()).commands.items():  # type: ignore[attr-defined]
        inner = getattr(verb, "commands", None)
        found |= {f"{name} {one}": command for one, command in inner.items()} if inner else {name: verb}
    return found


VERBS = _verbs()
#: Every option with a number, of every verb.
NUMBERS = [
    (verb, max(parameter.opts, key=len))
    for verb, command in VERBS.items()
    for parameter in command.params
    if parameter.opts[0].startswith("-") and parameter.type_descriptor.annotation in (int, float)
]
#: Every path, of every verb.
PATHS = [
    (verb, parameter.name)
    for verb, command in VERBS.items()
    for parameter in command.params
    if "Path" in str(parameter.type_descriptor.annotation) or not parameter.opts[0].startswith("-")
]


@pytest.mark.parametrize(("verb", "name"), PATHS)
def test_an_empty_path_is_not_the_current_folder(verb: str, name: str) -> None:
    """A script's `--out "$FORGOTTEN"` fills no folder, and `ls "$FORGOTTEN"` tells of none."""
    words = []
    for parameter in VERBS[verb].params:
        is_option = parameter.opts[0].startswith("-")
        if parameter.name == name:
            words += [parameter.opts[0], ""] if is_option else [""]
        elif not is_option:
            words.append("x")
    with pytest.raises(UserError, match="is empty"):
        VERBS[verb].make_context(verb, words)


#: A name that no file can have: where it is only looked at, the kernel's error is all that there is.
LONG = "a" * 300
#: The words with which each verb is given a place, whatever it does with it.
PLACES = [
    ["report", LONG],
    ["report", LONG, "--published", "x.md"],
    ["resume", LONG],
    ["watch", LONG],
    ["compare", LONG, LONG],
    ["export", LONG, "--to", "x.csv"],
    ["ls", LONG],
    ["query", "select 1", "--in", LONG],
    ["tag", LONG, "a=1"],
    ["trend", LONG],
    ["show", LONG],
    ["check", LONG],
    ["run", LONG],
    ["run", f"{LONG}=1"],
    ["run", LONG, "--all"],
    ["run", "quick", "--set", "storage.path=.", "--out", LONG],
    ["import", LONG],
    ["fit", "intel-520", LONG],
    ["fit", "intel-520", "fill-level-tachion-400", "--out", LONG],
    ["what-if", LONG],
    ["trace", "show", LONG],
    ["trace", "simulate", LONG],
    ["cache", "create", LONG, LONG, "--name", "db"],
    ["emulate", "intel-520", "--file", LONG, "--mount", LONG],
    ["serve", LONG],
]


@pytest.fixture(scope="module")
def caller() -> Iterator[Caller]:
    with Caller() as made:
        yield made


def _refused(called: Called) -> str:
    assert called.code == 2 and not called.stdout, called
    (line,) = called.stderr.splitlines()
    assert line.startswith("error: ") and "(hint: " in line
    for word in ("Input should", "Invalid value", "Usage", "valid integer", "╭"):
        assert word not in line
    return line


@pytest.mark.parametrize("verb", VERBS)
def test_an_option_that_there_is_not(caller: Caller, tmp_path: Path, verb: str) -> None:
    assert ": there is no such option" in _refused(caller.call([*verb.split(), "--nosuch", "x"], tmp_path))
    close = next(name for one in VERBS[verb].params for name in one.opts if name.startswith("--"))
    assert f"did you mean {close}?" in _refused(caller.call([*verb.split(), f"{close}x"], tmp_path))


def test_there_are_options_with_numbers() -> None:
    assert ("run", "--jobs") in NUMBERS and ("run", "--seed") in NUMBERS


@pytest.mark.parametrize(("verb", "option"), NUMBERS)
def test_numbers_that_are_none(caller: Caller, tmp_path: Path, verb: str, option: str) -> None:
    for value in ("x", "", "1e400x", "\x1b[31m"):
        line = _refused(caller.call([*verb.split(), f"{option}={value}"], tmp_path))
        assert line.startswith(f"error: {option}: must be ") and "\x1b" not in line


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["run", "quick", "--jobs", "0"], "--jobs: must be at least 1, not '0'"),
        (["run", "quick", "storage.path=/x"], "did you mean --set storage.path=/x?"),
        (["run", "quick", "--all", "storage.path=/x"], "did you mean --set storage.path=/x?"),
        (["check", "quick", "storage.path=/x"], "did you mean --set storage.path=/x?"),
        (["run", "quick", "--set", "sweep.workload.threads=1,2"], "(hint: [1, 2])"),
        (["run", "quick", "--set", "sweep.workload.engine=psync, io_uring"], "(hint: ['psync', 'io_uring'])"),
        (["rnu"], "rnu: there is no such verb (hint: did you mean run?"),
        (["cache", "strt"], "strt: there is no such verb (hint: did you mean start?"),
        (["show", "virident"], "did you mean virident-flashmax-1400-mlc, "),
        (["show", "quikc"], "did you mean quick?"),
        (["run", "quikc"], "did you mean quick?"),
        (["check", "quikc"], "did you mean quick?"),
        (["report", "resul"], "did you mean result?"),
        (["compare", "resul", "result"], "did you mean result?"),
        (["what-if", "resul", "--set", "x=1"], "did you mean result?"),
        (["fit", "workload", "resul"], "did you mean result?"),
        (["import", "resul"], "did you mean result?"),
        (["import", "result", "--format", "fioo-json"], "did you mean fio-json?"),
        (["trace", "show", "resul"], "did you mean result?"),
        (["trace", "simulate", "result", "--policy", "lur"], "did you mean lru?"),
        (["emulate", "virident", "--file", "f", "--mount", "m"], "did you mean virident-flashmax-1400-mlc"),
        (["compare"], "RESULT: is missing"),
        (["trend"], "DIR|S3: is missing"),
        (["run", "--json=3", "quick"], "--json: does not take a value"),
    ],
)
def test_slips_of_the_hand(caller: Caller, tmp_path: Path, arguments: list[str], told: str) -> None:
    (tmp_path / "result").mkdir()
    assert told in _refused(caller.call(arguments, tmp_path))


@pytest.mark.parametrize("columns", [40, 80, 200])
@pytest.mark.parametrize("what", [[], ["--devices"]])
def test_lists_fit_any_terminal(caller: Caller, tmp_path: Path, what: list[str], columns: int) -> None:
    from flatwater.experiment import library, list_devices

    ran = caller.call(["list", *what], tmp_path, columns=columns)
    lines = ran.stdout.splitlines()
    assert ran.code == 0 and max(map(len, lines)) <= columns and "…" not in ran.stdout
    words = " ".join(ran.stdout.split())
    for entry in list_devices() if what else library():
        assert entry.name in words
        if columns >= 80:
            assert entry.title in words


@pytest.mark.parametrize("arguments", PLACES, ids=lambda words: " ".join(words).replace(LONG, "LONG"))
def test_a_place_that_cannot_even_be_looked_at(caller: Caller, tmp_path: Path, arguments: list[str]) -> None:
    called = caller.call(arguments, tmp_path)
    # A run says before what it needs and writes; the error is one line, and the last one.
    lines = called.stderr.splitlines()
    assert [one for one in lines if one.startswith("error: ")] == lines[-1:]
    assert called.code in (1, 2) and "File name too long" in lines[-1] and "Traceback" not in called.stderr
