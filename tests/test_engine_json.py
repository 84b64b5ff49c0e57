"""Plans as the engine reads them."""

from __future__ import annotations

import json
from dataclasses import dataclass

from flatwater.engine_json import as_data, to_json


@dataclass(frozen=True)
class Inner:
    name: str
    size: int | None = None


@dataclass(frozen=True)
class Outer:
    parts: tuple[Inner, ...]
    by_name: dict[str, Inner]
    permit: Inner | None
    after: Inner | None = None


def test_classes_become_objects_at_any_depth() -> None:
    plan = Outer((Inner("a", 1), Inner("b", 2)), {"c": Inner("c", 3)}, None)
    assert as_data(plan)["parts"] == [{"name": "a", "size": 1}, {"name": "b", "size": 2}]
    assert as_data(plan)["by_name"] == {"c": {"name": "c", "size": 3}}
    assert json.loads(to_json(plan)) == as_data(plan)


def test_none_is_written_where_it_has_to_be_said_and_left_out_where_it_is_the_default() -> None:
    assert as_data(Outer((), {}, None)) == {"parts": [], "by_name": {}, "permit": None}
    assert as_data(Inner("a")) == {"name": "a"}
    assert as_data(Inner("a", 0)) == {"name": "a", "size": 0}
