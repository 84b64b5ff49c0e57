"""A problem stands where its field is written: on a line of the file, or in a word of the command line."""

from __future__ import annotations

from pathlib import Path

from flatwater.experiment.placing import Places, place_problems
from flatwater.experiment.problem import Problem

TEXT = """[workload]
mode = "rndrd"
threads = 3
[sweep]
"storage.fill" = [0.5]
"""


def places(*problems: Problem, set_by: dict[str, str] | None = None) -> list[str]:
    placed = place_problems(problems, Path("my.toml"), TEXT, set_by or {}, {"storage.fill"})
    return [str(problem) for problem in placed.problems]


def test_in_the_order_of_the_lines() -> None:
    assert places(Problem("workload.threads", "is odd"), Problem("workload.mode", "is even")) == [
        "my.toml:2: workload.mode: is even",
        "my.toml:3: workload.threads: is odd",
    ]


def test_a_swept_value_stands_in_the_sweep() -> None:
    assert places(Problem("storage.fill", "is low")) == ["my.toml:5: storage.fill: is low"]


def test_a_default_has_no_line_but_what_it_depends_on_has_one() -> None:
    assert places(Problem("workload.files", "is few", None, ("workload.threads",))) == [
        "my.toml:3: workload.files: is few"
    ]
    assert places(Problem("storage.size", "is small")) == ["my.toml: storage.size: is small"]


def test_what_the_command_line_set_stands_there() -> None:
    assert places(Problem("workload.threads", "is odd"), set_by={"workload.threads": "--set workload.threads=3"}) == [
        "--set workload.threads=3: workload.threads: is odd"
    ]


def test_places_in_lists_are_in_brackets() -> None:
    assert places(Problem("published.1.set", "matches no cell")) == ["my.toml: published[1].set: matches no cell"]


def test_a_text_of_the_engine_gets_the_places_of_its_fields() -> None:
    text = "[workload]\nsetup = [\n  'A',\n  'B',\n]\n"
    places = Places(Path("my.toml"), text, {"workload.on_connect": "--set workload.on_connect=C"}, set())
    told = places.tell("cannot connect: workload.setup.1: no table (hint: workload.allow_writes = true)")
    assert told == "cannot connect: my.toml:4: workload.setup[1]: no table (hint: workload.allow_writes = true)"
    assert places.tell("workload.on_connect.0: no") == "--set workload.on_connect=C: workload.on_connect[0]: no"
    assert places.tell("workload.log: gone") == "my.toml:1: workload.log: gone"
