"""Every verb that writes a document, on a result of each kind: it tells something true, or one line says why not."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner, Result

from flatwater.cli import make_app
from flatwater.errors import FlatwaterError

sys.path.insert(0, str(Path(__file__).parent))
from each_result import HOSTILE, KINDS

#: How each verb is called, with the folder of the result (`R`) and that of what it writes (`OUT`). Cell 0 is there in
#: every kind; without it, a sweep would only be told to choose one.
CALLS: dict[str, list[list[str]]] = {
    "report": [
        ["R", "--out", "OUT/page.html"],
        ["R", "--one-page", "--out", "OUT/sheet.html"],
        ["R", "--json"],
        ["R", "--published", "OUT/published.md"],
    ],
    "compare": [
        ["R", "R", "--out", "OUT/page.html"],
        ["R", "R", "--anyway", "--out", "OUT/page.md"],
        ["R", "R", "--json"],
    ],
    "advise": [
        ["R", "--cell", "0", "--no-predict", "--out", "OUT/page.html"],
        ["R", "--cell", "0", "--no-predict", "--json"],
    ],
    "what-if": [["R", "--cell", "0", "--set", "database.cores=4", "--out", "OUT/page.html"]],
    "cost": [
        ["R", "--lines", "--out", "OUT/page.html"],
        ["R", "--load", "1e6", "--out", "OUT/page.md"],
        ["R", "--json"],
    ],
}
#: Verbs that write something else than a document of results.
OTHERS = {"run", "import", "fit", "health", "observe", "tune-up"}
#: Words that stand where a figure should.
_NO_FIGURE = re.compile(r".{0,60}(?<![\w.-])(?:nan|NaN|inf|Infinity|None(?! of )|null|undefined)(?![\w-]).{0,30}")


def test_every_verb_is_called() -> None:
    verbs = get_command(make_app()).commands  # type: ignore[attr-defined]
    writing = {name for name, verb in verbs.items() if any("--out" in one.opts for one in verb.params)}
    assert set(CALLS) == writing - OTHERS, "give the new verb its calls here"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Path]]:
    """A result of a kind, made when it is asked for first."""
    folder = tmp_path_factory.mktemp("results")
    made: dict[str, Path] = {}

    def result(kind: str) -> Path:
        if kind not in made:
            made[kind] = folder / re.sub(r"\W+", "-", kind)
            KINDS[kind](made[kind])
        return made[kind]

    yield result


def call(verb: str, arguments: list[str], result: Path, out: Path) -> Result:
    given = [one.replace("OUT", str(out)) if one != "R" else str(result) for one in arguments]
    return CliRunner().invoke(make_app(), [verb, *given])


@pytest.mark.slow  # 400 calls
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("verb", CALLS)
def test_a_document_or_one_line(results: Callable[[str], Path], tmp_path: Path, verb: str, kind: str) -> None:
    result = results(kind)
    assert (result / "flatwater.json").exists(), "the kind is not made"
    for arguments in CALLS[verb]:
        called = call(verb, arguments, result, tmp_path)
        error = called.exception
        if isinstance(error, FlatwaterError):
            assert error.exit_code in (1, 2) and len(str(error).splitlines()) == 1, error
            assert len(str(error)) < 500
            continue
        assert error is None, (arguments, error)
        if "--json" in arguments:
            _check_json(called.stdout)
        else:
            _check_words(called.stdout)
        for page in tmp_path.iterdir():
            if page.suffix in (".html", ".md"):
                _check_page(page.read_text())
                page.unlink()


@pytest.mark.slow
def test_the_kinds_that_can_be_told_of_are(results: Callable[[str], Path], tmp_path: Path) -> None:
    """What is refused everywhere would pass the test above."""
    told = ["fileio, modelled", "tpcc, modelled", "oltp, modelled", "a flash cache, modelled", "a replayed trace"]
    for verb in ("report", "compare", "advise", "cost"):
        for kind in told:
            assert call(verb, CALLS[verb][0], results(kind), tmp_path).exit_code == 0, (verb, kind)
    assert call("what-if", CALLS["what-if"][0], results("tpcc, as a real server records it"), tmp_path).exit_code == 0


def test_why_an_imported_run_has_no_twin(results: Callable[[str], Path], tmp_path: Path) -> None:
    called = call("what-if", CALLS["what-if"][0], results("sysbench"), tmp_path)
    assert "it is imported: no counters of a server were recorded" in str(called.exception)


def _check_words(text: str) -> None:
    """No word stands where a figure should, and no sign acts on a terminal that a guarded output would not show."""
    assert not _NO_FIGURE.findall(text)


def _check_page(text: str) -> None:
    assert not re.search(r"(?<!\\)<img src=x", text) and "\x1b" not in text and "\u202e" not in text
    shown = re.sub(r"<(script|style|pre|details)\b.*?</\1>", "", text, flags=re.DOTALL)
    shown = re.sub(r"<[^>]*>", " ", shown)
    _check_words(shown)


def _check_json(text: str) -> None:
    """JSON without what JSON does not have; each interval holds its mean."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    _check_intervals(json.loads(text, parse_constant=refuse))


#: A figure, and the ends of its interval.
_INTERVALS = [
    ("ratio", "low", "high"),
    ("throughput", "throughput_low", "throughput_high"),
    ("cost_per_unit", "cost_per_unit_low", "cost_per_unit_high"),
    ("ratio", "ratio_low", "ratio_high"),
]


def _check_intervals(told: Any) -> None:
    for one in told.values() if isinstance(told, dict) else told if isinstance(told, list) else ():
        _check_intervals(one)
    if not isinstance(told, dict):
        return
    for name, low, high in _INTERVALS:
        ends = told.get(name), told.get(low), told.get(high)
        if all(isinstance(one, int | float) for one in ends):
            value, least, most = (float(one) for one in ends)  # type: ignore[arg-type]
            assert least <= value * (1 + 1e-9) and value <= most * (1 + 1e-9), (name, told)


def test_the_hostile_name_is_hostile() -> None:
    assert "<img" in HOSTILE and "\x1b" in HOSTILE and "\u202e" in HOSTILE
