from __future__ import annotations

import pytest
from cases import case, database, device, finding, machine

from flatwater.advise.rule import Case
from flatwater.advise.rules.flush_neighbours import FlushNeighbours

FULL = finding("device throughput", 0.9)
FLASH = {"device": "/dev/nvme0n1", "rotational": False}


def run(
    server: str, settings: dict[str, str], storage: dict[str, object] = FLASH, bound: str = "", read: float = 0
) -> Case:
    return case(
        finding(bound) if bound else FULL,
        database=database(server, settings, pages_flushed_per_s=900, pages_read_per_s=read, cpu_user_pct=100),
        device=device(),
        machine=machine(facts={"storage": storage}),
    )


@pytest.mark.parametrize(
    ("server", "settings", "lines"),
    [
        ("mysql 5.7.44", {"innodb_flush_neighbors": "1"}, ("innodb_flush_neighbors = 0",)),
        ("mysql 8.0.36", {"innodb_flush_neighbors": "2"}, ("innodb_flush_neighbors = 0",)),
        ("mariadb 10.3.39", {"innodb_flush_neighbors": "1"}, ("innodb_flush_neighbors = 0",)),
        ("percona 5.5.61", {"innodb_flush_neighbor_pages": "area"}, ("innodb_flush_neighbor_pages = none",)),
        ("mariadb 5.5.68", {"innodb_flush_neighbor_pages": "cont"}, ("innodb_flush_neighbor_pages = none",)),
    ],
)
def test_each_page_by_itself(server: str, settings: dict[str, str], lines: tuple[str, ...]) -> None:
    told = FlushNeighbours().advise(run(server, settings))
    assert told is not None
    assert told.change.lines == lines
    assert told.share == 0.9
    (name, value), *_ = settings.items()
    assert told.evidence[0] == f"{name} = {value}"


def test_silent_where_it_is_off_unknown_or_ignored() -> None:
    rule, on = FlushNeighbours(), {"innodb_flush_neighbors": "1"}
    assert rule.advise(run("mysql 8.0.36", {"innodb_flush_neighbors": "0"})) is None
    assert rule.advise(run("percona 5.5.61", {"innodb_flush_neighbor_pages": "none"})) is None
    assert rule.advise(run("mysql 8.0.36", {})) is None
    assert rule.advise(run("mariadb 10.11.6", on)) is None, "it sees that the device does not rotate"
    assert rule.advise(run("mysql 5.5.62", on)) is None, "it has no such setting"


def test_silent_where_the_device_may_be_a_disk_or_does_not_bind() -> None:
    rule, on = FlushNeighbours(), {"innodb_flush_neighbors": "1"}
    assert rule.advise(run("mysql 8.0.36", on, {"device": "/dev/sda", "rotational": True})) is None
    assert rule.advise(run("mysql 8.0.36", on, {"device": "/dev/vda", "rotational": False})) is None
    assert rule.advise(run("mysql 8.0.36", on, {})) is None
    assert rule.advise(run("mysql 8.0.36", on, bound="CPU")) is None
    assert rule.advise(run("mysql 8.0.36", on, read=20_000)) is None, "reads fill the device"


def test_of_latency_it_speaks_only_where_requests_meet_the_writes() -> None:
    """Commits that wait for the syncs of a device that is busy for 3 % of the time gain nothing."""
    for busy_pct, speaks in ((3, False), (24.9, False), (25, True), (None, False)):
        told = FlushNeighbours().advise(
            case(
                finding("device latency"),
                database=database(
                    "mysql 8.0.36", {"innodb_flush_neighbors": "1"}, pages_flushed_per_s=900, cpu_user_pct=100
                ),
                device=device(busy_pct=busy_pct),
                machine=machine(facts={"storage": FLASH}),
            )
        )
        assert (told is not None) == speaks, busy_pct
