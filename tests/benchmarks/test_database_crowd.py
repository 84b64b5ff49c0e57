from __future__ import annotations

import json
import resource
from typing import Any

import pytest
from benchmarks.database.crowd import missing, read_crowd

from flatwater.errors import FlatwaterError

CELL: dict[str, Any] = {
    "status": "complete",
    "phases": [{"start_s": 0.0, "end_s": 5.0}],
    "operations": 100_000,
    "errors": 0,
    "client_cpu_us_per_op": 20.0,
    "counters": {"queries": 100_000, "reconnects": 0, "connect_failures": 0},
}


@pytest.mark.parametrize(
    ("change", "connected", "held"),
    [
        ({}, 10_001, True),
        ({"errors": 1}, 10_000, False),
        ({"status": "failed"}, 10_000, False),
        ({"counters": CELL["counters"] | {"reconnects": 3}}, 10_000, False),
        ({}, 9_000, False),
    ],
)
def test_a_crowd_holds_when_everyone_stays(change: dict[str, Any], connected: int, held: bool) -> None:
    found = read_crowd(json.dumps(CELL | change), 10_000, connected, 2**28)
    assert found.held is held
    assert found.queries_per_s == 20_000
    assert found.cpu_us == pytest.approx(20.0)


def test_what_is_not_understood_is_one_line() -> None:
    for output in ("", "{}"):
        with pytest.raises(FlatwaterError, match="not understood"):
            read_crowd(output, 10, 10, 1)


def test_limits_of_the_machine_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (1024, 4096))
    assert missing(10_000) == "a process may have 4,096 files open (ulimit -Hn)"
    assert missing(10) is None
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (1024, resource.RLIM_INFINITY))
    assert "may have only" in (missing(10**9) or "")
