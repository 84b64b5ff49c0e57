"""Arguments of a wrong type: of every public function and method, by its signature, one line of flatwater's."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np
import pytest

import flatwater as fw

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))
import synthetic

#: The words of annotations, and what may be given for them.
TAKEN = {
    "Path": Path,
    "str": str,
    "int": int,
    "bool": bool,
    "None": NoneType,
    "Library": str,
    "Mapping[str, object]": dict,
    "LoadedRun": fw.LoadedRun,
}
GIVEN = (
    None,
    True,
    5,
    2.5,
    float("nan"),
    "x",
    b"x",
    ["a", "b"],
    ("a",),
    {1, 2},
    {"a": object()},
    {1: 2},
    object(),
    int,
)
GIVEN += (Path("x"), Path, lambda: 1, np.zeros(3), 10**30)


def public() -> Iterator[tuple[str, Callable[..., object]]]:
    """Every public function, and every method of a public class; whoever analyses a result makes none of these."""
    for name in fw.__all__:
        found = getattr(fw, name)
        if inspect.isclass(found):
            methods = inspect.getmembers(found, inspect.isfunction)
            yield from ((f"{name}.{method}", one) for method, one in methods if not method.startswith("_"))
        elif callable(found):
            yield name, found


ARGUMENTS = [
    (name, function, parameter)
    for name, function in public()
    for parameter in inspect.signature(function).parameters.values()
    if parameter.name != "self"
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> fw.LoadedRun:
    return fw.load(synthetic.sweep(tmp_path_factory.mktemp("run") / "result", count=60))


def call(run: fw.LoadedRun, function: Callable[..., object], parameter: inspect.Parameter, value: object) -> object:
    """Calls it with this argument; the others are right, but name no experiment and no run."""
    owner = function.__qualname__.partition(".")[0]
    selves = {"LoadedRun": run, "Chart": run.plot(), "WhatIf": object.__new__(fw.WhatIf)}
    positional: list[object] = [selves[owner]] if owner in selves else []
    for one in inspect.signature(function).parameters.values():
        if one.kind is not inspect.Parameter.KEYWORD_ONLY and one.name != "self":
            if one.name == parameter.name:
                positional.append(value)
            elif one.default is inspect.Parameter.empty and one.kind is not inspect.Parameter.VAR_POSITIONAL:
                positional.append("nosuch")
    named = {parameter.name: value} if parameter.kind is inspect.Parameter.KEYWORD_ONLY else {}
    return function(*positional, **named)


@pytest.mark.parametrize(
    ("name", "function", "parameter"), ARGUMENTS, ids=[f"{name}-{one.name}" for name, _, one in ARGUMENTS]
)
def test_an_argument_of_a_wrong_type(
    run: fw.LoadedRun,
    name: str,
    function: Callable[..., object],
    parameter: inspect.Parameter,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    taken = [TAKEN[word] for word in str(parameter.annotation).split(" | ")]
    for value in GIVEN:
        if type(value) in taken or (isinstance(value, Path) and Path in taken):
            if name != "WhatIf.table":  # there is none to ask
                try:
                    call(run, function, parameter, value)
                except fw.FlatwaterError as error:
                    assert len(str(error).splitlines()) == 1
            continue
        with pytest.raises(fw.UserError) as raised:
            call(run, function, parameter, value)
        assert str(raised.value).startswith(f"fw.{name}: {parameter.name} takes "), value
        assert len(str(raised.value).splitlines()) == 1


def test_what_numpy_has_is_taken(run: fw.LoadedRun) -> None:
    one: Any = run.summary()["cell"].to_numpy()[1]
    assert run.names(one) and run.series("workload.throughput", cell=one, measured=np.True_).num_rows  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda run: run.series(["a", "b"]), "fw.LoadedRun.series: names takes a text, and not ['a', 'b']"),
        (lambda run: run.series("x", cell="0"), "fw.LoadedRun.series: cell takes a whole number or None, and not '0'"),
        (lambda run: run.plot(cell=True), "fw.LoadedRun.plot: cell takes a whole number or None, and not True"),
        (lambda run: fw.load(None), "fw.load: path takes a path or a text, and not None"),
        (lambda run: fw.compare(run, 5), "fw.compare: runs takes a LoadedRun or a path or a text, and not 5"),
        (lambda run: fw.what_if("nosuch", {"a": {5}}), "changes: a: no field takes {5}"),
        (lambda run: fw.run("quick", {"seed": object}), "changes: seed: no field takes <class 'object'>"),
    ],
)
def test_what_is_told(run: fw.LoadedRun, ask: Callable[[Any], object], told: str) -> None:
    with pytest.raises(fw.UserError) as raised:
        ask(run)
    assert str(raised.value).startswith(told) and raised.value.hint


def test_a_wrong_number_of_arguments_is_told_by_python(run: fw.LoadedRun) -> None:
    with pytest.raises(TypeError, match=r"load\(\) missing 1 required positional argument: 'path'"):
        fw.load()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'cel'"):
        run.series(cel=1)  # type: ignore[call-arg]
