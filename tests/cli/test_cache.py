"""`flatwater cache`: its sub-verbs, their help and completion. What they do is in tests/cache."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from lab import FLATWATER, Lab

from flatwater.cache.state import CacheState
from flatwater.cli.cache import make_app
from flatwater.cli.cache.arguments import complete_name, complete_preset, complete_setting

VERBS = (
    *("create", "start", "status", "set", "flush", "pin", "preload"),
    *("record", "resize", "restart", "stop", "check", "drain", "destroy"),
)


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLATWATER_STATE_DIR", str(tmp_path / "state"))


def test_all_sub_verbs_are_registered() -> None:
    assert tuple(command.name for command in make_app().registered_commands) == VERBS


@pytest.mark.parametrize("verb", VERBS)
def test_help_shows_an_example(verb: str) -> None:
    ran = subprocess.run([FLATWATER, "cache", verb, "--help"], capture_output=True, text=True)
    assert ran.returncode == 0 and "Example" in ran.stdout, ran
    assert f"flatwater cache {verb} " in ran.stdout
    assert "--json" in ran.stdout


def test_status_without_caches_says_what_comes_first(lab: Lab) -> None:
    ran = lab.run("status", verb="cache")
    assert ran.code == 0 and "flatwater cache create" in ran.stdout
    assert json.loads(lab.run("status", "--json", verb="cache").stdout) == {"caches": []}


@pytest.mark.parametrize(
    "arguments",
    [
        *(["start", "db", "--mount", "x"], ["status", "db"], ["set", "db", "a=1"], ["flush", "db"], ["stop", "db"]),
        *(
            ["record", "db", "t"],
            ["pin", "db", "all"],
            ["preload", "db", "all"],
            ["resize", "db", "1G"],
            ["restart", "db"],
        ),
        *(["check", "db"], ["drain", "db"], ["destroy", "db"]),
    ],
)
def test_an_unknown_cache_is_refused_in_one_line(lab: Lab, arguments: list[str]) -> None:
    first, *rest = arguments
    ran = lab.run(first, *rest, verb="cache")
    assert ran.code == 2 and "no cache is called 'db'" in ran.error


@pytest.mark.parametrize("verb", ["flush", "stop", "restart", "preload", "resize"])
def test_a_cache_that_does_not_run_says_how_it_is_started(lab: Lab, verb: str, tmp_path: Path) -> None:
    for name in ("fast", "backing"):
        (tmp_path / name).write_bytes(bytes(4096))
    state = CacheState("db", "0" * 36, str(tmp_path / "fast"), str(tmp_path / "backing"), "/p", 4096, 2**20, 4096)
    state.save()
    more = {"preload": ["all"], "resize": ["4KiB"]}.get(verb, [])
    ran = lab.run(verb, "db", *more, verb="cache")
    assert ran.code == 2 and "does not run" in ran.error and "flatwater cache start db" in ran.error


def test_completion_offers_names_settings_and_words() -> None:
    for name in ("alpha", "beta"):
        CacheState(name, "0" * 36, "/f", "/b", "/p", 4096, 2**20, 2**20).save()
    assert complete_name("") == ["alpha", "beta"] and complete_name("b") == ["beta"]
    assert complete_setting("dirty_") == ["dirty_high_pct=", "dirty_low_pct="]
    assert complete_setting("mode=write-t") == ["mode=write-through"]
    assert complete_setting("nothing=") == []
    assert complete_preset("v") == ["vcache"]


def test_every_word_that_is_offered_is_one() -> None:
    from flatwater.cache.engine import settings_of
    from flatwater.cache.settings import PRESETS, setting_words

    for preset in PRESETS:
        settings_of(preset, {})
    for setting, words in setting_words().items():
        for word in words:
            assert setting in settings_of(None, {setting: word})


def test_the_guide_names_every_sub_verb_and_setting() -> None:
    from flatwater.cache.settings import setting_words

    guide = (Path(__file__).parents[2] / "docs/cache.md").read_text()
    named = set(re.findall(r"`([a-z_0-9]+)", guide))
    assert set(VERBS) <= named
    assert set(setting_words()) <= named
