"""Wrong arguments of `flatwater observe`; tests/runner/test_observing.py observes."""

from __future__ import annotations

import re

import pytest
from lab import Lab


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("mysql://root@127.0.0.1:1",), "cannot connect"),
        (("nonsense",), "no url"),
        (("mysql://nobody-there",), "names no user"),
        (("mysql://root@127.0.0.1:1", "--for", "soon"), "--for"),
        (("mysql://root@127.0.0.1:1", "--for", "0s"), "--for"),
        (("mysql://root@127.0.0.1:1", "--for", "1ms"), "--for"),
        (("mysql://root@127.0.0.1:1", "--unit", "rps"), "--unit"),
    ],
)
def test_wrong_arguments(lab: Lab, arguments: tuple[str, ...], told: str) -> None:
    ran = lab.flatwater("observe", *arguments)
    assert ran.code == 2 and told in ran.error
    assert not re.search(r"\b(workload|record|database)\.", ran.error), "the verb has options, and no fields"
