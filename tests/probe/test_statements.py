"""Why a server tells no statements: what its settings can change, and what they cannot."""

from __future__ import annotations

from typing import Any, cast

import pytest

from flatwater._engine import Connection, EngineError
from flatwater.probe.server.statements import NO_DIGESTS, read_digests, without_samples


class Server:
    """What a server answers: its variables, its consumer of digests, and the table of digests or an error."""

    def __init__(self, variables: dict[str, str], consumer: str = "YES", refuses: str = "") -> None:
        self.variables = variables
        self.consumer = consumer
        self.refuses = refuses

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        if sql.startswith("SHOW GLOBAL VARIABLES"):
            return [*self.variables.items()]
        if "setup_consumers" in sql:
            return [("statements_digest", self.consumer)]
        if "FROM performance_schema" in sql and self.refuses:
            raise EngineError(self.refuses)
        return [("shop", "abc", "1", "1000000", "1", "1", "0", "0")] if "FROM performance_schema" in sql else []


def why(server: Server) -> tuple[str, str]:
    gap = read_digests(cast(Connection, server)).gap
    assert gap is not None
    return gap.why, gap.remedy


SIZE = {"performance_schema_digests_size": "10000"}


def test_a_server_that_counts_digests_has_no_gap() -> None:
    found = read_digests(cast(Connection, Server({"performance_schema": "ON"} | SIZE)))
    assert found.gap is None and [*found.counters] == [("shop", "abc")]


# MySQL 5.1 has no performance_schema, and that of 5.5 no digests: no setting of theirs helps.
@pytest.mark.parametrize("variables", [{}, {"performance_schema": "OFF"}, {"performance_schema": "ON"}])
def test_a_server_without_digests_is_not_told_to_switch_them_on(variables: dict[str, str]) -> None:
    assert why(Server(variables)) == (NO_DIGESTS, "")


def test_what_is_off_can_be_switched_on() -> None:
    told, remedy = why(Server({"performance_schema": "OFF"} | SIZE))
    assert told == "performance_schema is off" and remedy == "performance_schema = ON in the option file"
    assert "statements_digest" in why(Server({"performance_schema": "ON"} | SIZE, consumer="NO"))[0]
    refused = Server({"performance_schema": "ON"} | SIZE, refuses="SELECT command denied (error 1142)")
    assert "GRANT SELECT ON performance_schema" in why(refused)[1]


def test_samples_need_more_than_digests() -> None:
    off = read_digests(cast(Connection, Server({"performance_schema": "OFF"} | SIZE))).gap
    assert off is not None
    told = without_samples(off)
    assert told.what == "samples of statements" and told.why == off.why and told.figures == []
    assert "performance_schema = ON" in told.remedy and "events_statements_history = ON" in told.remedy
    none = read_digests(cast(Connection, Server({}))).gap
    assert none is not None and without_samples(none).remedy == ""
