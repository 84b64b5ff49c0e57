"""Each rule is tested in both directions: its file has a case for which it speaks, and one for which it is silent."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import pytest

from flatwater.advise.advice import Advice
from flatwater.advise.rule import Case, Rule
from flatwater.advise.rules import RULES

_BY_FILE = {f"test_{rule.name.replace('-', '_')}": type(rule) for rule in RULES}


@pytest.fixture(scope="module", autouse=True)
def both_directions(request: pytest.FixtureRequest) -> Iterator[None]:
    """Listens to the rule that the file tests, and fails if it only ever spoke, or never did."""
    rule = _BY_FILE[request.path.stem]
    heard: set[str] = set()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rule, "advise", _overheard(rule, heard))
        failed = request.session.testsfailed
        yield
    if _is_whole(request) and request.session.testsfailed == failed:
        assert heard == {"speaks", "is silent"}, (
            f"the tests of {rule.name} are cases for which it {heard}, and no others"
        )


def _overheard(rule: type[Rule], heard: set[str]) -> object:
    advise = rule.advise

    @functools.wraps(advise)
    def listening(self: Rule, case: Case) -> Advice | None:
        told = advise(self, case)
        heard.add("is silent" if told is None else "speaks")
        return told

    return listening


def _is_whole(request: pytest.FixtureRequest) -> bool:
    """Whether all tests of the file are run; a part of them need not have both directions."""
    run = {item.function.__name__ for item in request.session.items if getattr(item, "module", None) is request.module}
    return run == {name for name in vars(request.module) if name.startswith("test_")}
