"""What holds for every rule."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest
from cases import case, database, finding
from every_server import SERVERS, ill_cases, with_lines

from flatwater.advise.advice import Elsewhere
from flatwater.advise.rule import Rule
from flatwater.advise.rules import RULES
from flatwater.analysis.bound.finding import Name
from flatwater.server.settings import names_of

HERE = Path(__file__).parent
#: What these rules advise is a multiple or a part of what the server has, so they may go on while the evidence stays.
MULTIPLY = {"redo-size", "redo-large", "buffer-pool"}
#: Rules about something else than the settings of a server: their own tests have the cases for which they speak.
NO_ILLNESS: set[str] = {
    *("real-time-lag", "noisy-neighbour", "swap", "swappiness", "numa-interleave", "transparent-huge-pages", "bits-32"),
    *("data-journal", "alignment", "io-scheduler", "block-size", "file-system", "read-ahead", "mount-atime"),
    *("write-barriers", "cpu-governor", "spare-space", "cache-dirty-marks", "cache-mode", "cache-size", "flash-cache"),
    *("array-battery", "battery-relearn", "patrol-read", "volume-credits", "power-loss-protection", "hot-drive"),
    *("missing-index", "single-thread", "processor-bound", "spikes", "calm-load", "drive-wear", "log-of-its-own"),
    *("degraded-array", "slow-part", "write-locks"),
}
#: Rules that speak of a served load too, because what they advise is not more of it.
BESIDE_PERFORMANCE: set[str] = {
    *("real-time-lag", "hot-drive", "bits-32", "write-barriers", "calm-load", "drive-wear", "degraded-array"),
}
#: Names in an option file that are not in the registry of settings: they switch a setting off.
SWITCHES = {"skip_log_bin"}


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


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_lines_are_the_servers_own_and_never_what_is_so_already(rule: Rule, server: str) -> None:
    """Whatever the bound, each line names a setting of this very server, and heeding the advice ends it."""
    flavour, version = server.split()
    major, minor, patch = map(int, version.split("."))
    names = names_of(flavour, (major, minor, patch)) | SWITCHES
    for ill in ill_cases(server):
        told = rule.advise(ill)
        if told is None or told.change.kind != "setting" or not told.change.lines:
            continue
        assert {line.partition(" =")[0] for line in told.change.lines} <= names
        assert ill.server is not None
        healed = with_lines(ill, told.change.lines)
        assert healed.server is not None
        assert healed.server.variables != ill.server.variables, "the server had these values already"
        again = rule.advise(healed)
        if rule.name in MULTIPLY:
            assert again is None or again.change.lines != told.change.lines
        else:
            assert again is None or again.change.lines == (), f"{rule.name} says it again: {again}"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_some_server_is_ill_for_each_rule_about_settings(rule: Rule) -> None:
    """The cases above make each rule speak that can advise a setting, so the test above tests something."""
    spoken = any(rule.advise(ill) is not None for server in SERVERS for ill in ill_cases(server))
    assert spoken or rule.name in NO_ILLNESS


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_silent_of_a_served_load(rule: Rule) -> None:
    """Whoever asked for no more than was done needs no more."""
    for server in ("mysql 8.0.36", "percona 5.5.61", "mariadb 10.11.6"):
        for ill in ill_cases(server):
            served = dataclasses.replace(ill, diagnosis=dataclasses.replace(ill.diagnosis, name="nothing"))
            told = rule.advise(served)
            assert told is None or rule.name in BESIDE_PERFORMANCE


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_each_rule_has_a_published_effect_or_says_why_there_is_none(rule: Rule) -> None:
    """And docs/advise.md has the same words."""
    page = (Path(__file__).parents[2] / "docs" / "advise.md").read_text()
    told = rule.elsewhere
    if isinstance(told, str):
        assert len(told) > 20
        assert not told.endswith(".")
        assert f"| `{rule.name}` | {told} |" in page
        return
    assert 0 < told.low <= told.high
    assert len(told.conditions) > 20, "of what change and of what system"
    assert re.search(r"(19|20)\d\d", told.source), "of what year"
    assert f"| `{rule.name}` | {told.text} |" in page


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_all_that_is_advised_says_what_to_expect(rule: Rule) -> None:
    """Whatever the server and the bound: an interval, a published range, or the reason why there is none."""
    for server in SERVERS:
        for told in filter(None, map(rule.advise, ill_cases(server))):
            published = isinstance(rule.elsewhere, Elsewhere)
            # A case may be unlike those that were published.
            assert told.elsewhere is None or published
            assert told.effect is not None or told.no_effect
            if told.effect is None and told.elsewhere is not None:
                assert "Measured elsewhere: " in told.expected
            if told.effect is None and not published and not told.change.overrides:
                assert str(rule.elsewhere) in told.expected


def test_the_page_says_which_rule_carries_each_old_advice() -> None:
    """Every rule stands in that table, and nothing in it is no rule."""
    page = (Path(__file__).parents[2] / "docs" / "advise.md").read_text(encoding="utf-8")
    table = page.partition("## What was advised before")[2]
    named = {
        name
        for row in re.findall(r"^\| .+? \| (.+) \|$", table, re.MULTILINE)
        for name in re.findall(r"`([\w-]+)`", row)
    }
    assert named == {rule.name for rule in RULES}
