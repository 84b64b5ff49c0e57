from __future__ import annotations

import tomllib

import pytest

from flatwater.experiment import load, to_toml
from flatwater.experiment.library import library_files
from flatwater.serve.launch.difference import inline, lines_between


def test_no_line_is_needed_for_an_experiment_as_it_is() -> None:
    for path in library_files().values():
        own = tomllib.loads(to_toml(load(path)))
        assert lines_between(own, own) == []


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("quick", ["storage.path=/tmp/x"]),
        ("quick", ["storage.path=/tmp/x", "workload.queue_depth=4", "storage.size=1MiB"]),
        ("quick", ["storage.path=/tmp/x", "sweep.workload.queue_depth=[4]"]),
        ("quick", ["storage.path=/tmp/x", "sweep.workload.threads=[4, 5]", "scale=0.5"]),
        ("fill-level-tachion-400", ["sweep.storage.fill=[0.5, 0.25]", "workload.duration_s=9"]),
        ("fill-level-tachion-400", ["storage.fill=0.5", "seed=7", "repeat=2", 'title="a \\n\\u2028\\" b"']),
        ("tpcc-quick", ["storage.path=/tmp/x", "database.settings.sql_mode=", "database.binary=mysqld"]),
        ("tpcc-quick", ["storage.path=/tmp/x", "database.settings={}"]),
        ("stability", ["cache.kind=none", 'sweep={"workload.connections"=[1,2]}', "report={}"]),
    ],
)
def test_the_lines_make_the_same_experiment_again(name: str, lines: list[str]) -> None:
    path = library_files()[name]
    text = to_toml(load(path, lines))
    found = lines_between(tomllib.loads(to_toml(load(path))), tomllib.loads(text))
    assert to_toml(load(path, found)) == text
    assert all("\n" not in line for line in found)


@pytest.mark.parametrize("value", [True, 1, 1.5, "a\n'\"\\b", [], [1, ["x"]], {"a b": {"c": [{"d": 1}]}}, {"": ""}])
def test_a_value_is_one_line_of_toml(value: object) -> None:
    assert tomllib.loads(f"a = {inline(value)}") == {"a": value} and "\n" not in inline(value)
