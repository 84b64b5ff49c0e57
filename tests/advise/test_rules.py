"""What holds for every rule."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cases import case, database, finding

from flatwater.advise.rule import Rule
from flatwater.advise.rules import RULES
from flatwater.analysis.bound.finding import Name

HERE = Path(__file__).parent


def test_names_and_sources() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.name)
        assert rule.about
        assert not rule.about.endswith(".")
        assert len(rule.source) > 20, f"{rule.name} says where it comes from"


def test_a_file_a_rule_and_a_test_beside_it() -> None:
    modules = {type(rule).__module__.rpartition(".")[2] for rule in RULES}
    assert {rule.name.replace("-", "_") for rule in RULES} == modules
    assert {path.stem for path in (HERE / "rules").glob("test_*.py")} == {f"test_{name}" for name in modules}
    page = Path(__file__).parents[2] / "docs" / "advise.md"
    missing = [rule.name for rule in RULES if f"`{rule.name}`" not in page.read_text()]
    assert not missing, "docs/advise.md has a row for each rule"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_silent_of_an_empty_case(rule: Rule) -> None:
    """Nothing was recorded, so nothing can be said: not of a run without a server, not of one without settings."""
    assert rule.advise(case()) is None
    assert rule.advise(case(database=database())) is None
    for name in Name.__args__:  # type: ignore[attr-defined]
        assert rule.advise(case(finding(name))) is None or rule.advise(case(finding(name))).evidence  # type: ignore[union-attr]
