from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from cases import case, database, experiment, finding

from flatwater.advise.rule import Case
from flatwater.advise.rules.doublewrite import Doublewrite
from flatwater.analysis.bound.evidence import Layers

FULL = finding("device throughput", 0.8)


def run(server: str = "mariadb 10.11.6", value: str = "ON", bound: Any = FULL, **told: Any) -> Case:
    quantities = {"doublewrite_pages_per_s": 900, "pages_flushed_per_s": 1000} | told
    layers = {"layers": told["layers"]} if (quantities.pop("layers", None)) else {}
    return case(bound, database=database(server, {"innodb_doublewrite": value}, **quantities), **layers)


@pytest.mark.parametrize(
    ("server", "value", "line", "also"),
    [
        ("mysql 5.5.62", "ON", "innodb_doublewrite = 0", ""),
        ("mysql 5.7.44", "ON", "innodb_doublewrite = OFF", ""),
        ("mysql 8.0.25", "ON", "innodb_doublewrite = OFF", "innodb_doublewrite_dir"),
        ("mysql 8.0.36", "ON", "innodb_doublewrite = DETECT_ONLY", "innodb_doublewrite_dir"),
        ("mysql 8.4.3", "DETECT_AND_RECOVER", "innodb_doublewrite = DETECT_ONLY", ""),
        ("mariadb 10.11.6", "ON", "innodb_doublewrite = OFF", ""),
        ("mariadb 11.4.5", "ON", "innodb_doublewrite = OFF", "fast"),
    ],
)
def test_what_it_costs_and_when_it_can_go(server: str, value: str, line: str, also: str) -> None:
    told = Doublewrite().advise(run(server, value))
    assert told is not None
    assert told.change.lines == (line,)
    assert also in told.change.text
    assert "Only where the storage writes a whole page atomically" in told.change.text
    assert told.risk.startswith("DURABILITY")
    assert told.confidence == "low"
    assert "47 %" in told.evidence[0]


def test_a_model_is_told_in_its_own_words() -> None:
    layers = Layers("modelled", "modelled", "none", "modelled")
    told = Doublewrite().advise(run("mysql 8.0.99", layers=layers))
    assert told is not None
    assert told.change.overrides == ("database.settings.innodb_doublewrite=OFF",)


def test_silent_where_it_is_off_writes_nothing_or_does_not_matter() -> None:
    rule = Doublewrite()
    assert rule.advise(run(value="OFF")) is None
    assert rule.advise(run("mysql 8.0.36", "DETECT_ONLY")) is None
    assert rule.advise(run(doublewrite_pages_per_s=0)) is None, "the server saw that the device writes atomically"
    assert rule.advise(run(doublewrite_pages_per_s=None)) is None
    assert rule.advise(run(bound=finding("CPU"))) is None
    assert rule.advise(run(pages_read_per_s=20_000)) is None, "reads fill the device"


def test_silent_where_it_is_on_another_storage_than_the_pages() -> None:
    placed = """
        workload = { kind = "tpcc", warehouses = 1 }
        storage = { path = "/data" }
        [database]
        kind = "server"
        placement = { doublewrite = "apart" }
        storages = { apart = { path = "/srv/apart" } }
    """
    there = run()
    assert Doublewrite().advise(there) is not None
    there = replace(there, evidence=replace(there.evidence, experiment=experiment(placed)))
    assert Doublewrite().advise(there) is None
