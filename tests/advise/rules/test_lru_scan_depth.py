from __future__ import annotations

import pytest
from cases import case, database, device, finding

from flatwater.advise.rule import Case
from flatwater.advise.rules.lru_scan_depth import LruScanDepth
from flatwater.analysis.bound.device import OwnDevice
from flatwater.experiment.database.placement import Holding

NO_PAGES = finding("free pages", 0.4, "no page was free")


def run(
    server: str = "mysql 5.7.44",
    depth: str = "1024",
    instances: str = "8",
    reads: float = 20_000,
    busy: float = 30,
    bound: str = "",
    doublewrite: float = 0,
) -> Case:
    settings = {"innodb_lru_scan_depth": depth, "innodb_buffer_pool_instances": instances}
    return case(
        finding(bound) if bound else NO_PAGES,
        database=database(server, settings, pages_read_per_s=reads),
        device=device(busy_pct=busy),
        own_devices=(OwnDevice("disk-7200", Holding(("doublewrite",)), device("hdd", busy_pct=doublewrite)),),
    )


@pytest.mark.parametrize("server", ["mysql 5.6.51", "mysql 8.0.36", "percona 5.7.44", "mariadb 10.3.39"])
def test_as_deep_as_pages_are_read(server: str) -> None:
    told = LruScanDepth().advise(run(server))
    assert told is not None
    assert told.change.lines == ("innodb_lru_scan_depth = 3072",)
    assert "2,500 pages were read a second into each instance" in told.evidence[0]


def test_silent_where_the_cleaner_frees_enough_or_the_device_is_busy() -> None:
    rule = LruScanDepth()
    assert rule.advise(run(reads=8000)) is None, "1,000 for each instance"
    assert rule.advise(run(busy=80)) is None
    assert rule.advise(run(busy=5, doublewrite=80)) is None, "each page is written to the doublewrite buffer first"
    assert rule.advise(run(busy=5, doublewrite=20)) is not None
    assert rule.advise(run(bound="CPU")) is None
    assert rule.advise(run("mariadb 10.11.6")) is None, "its cleaner does not work once a second"
    assert rule.advise(run("mysql 5.5.62")) is None, "it has no such setting"
