from __future__ import annotations

import pytest

from flatwater.experiment.database.generation import SERIES, Series, generation_of, is_generation, release_of, series_of
from flatwater.experiment.database.lineage import GENERATIONS
from flatwater.experiment.database.measured import default_workload, load_workload, workload_files

KINDS = ("tpcc", "oltp")


@pytest.mark.parametrize(
    ("flavour", "version", "generation"),
    [
        ("mariadb", "10.11.6-MariaDB-0+deb12u1", "mariadb-10.11"),
        ("mariadb", "11.4.2-MariaDB", "mariadb-11"),
        ("mariadb", "11.8.6-MariaDB", "mariadb-11"),
        ("mariadb", "12.3.1-MariaDB", "mariadb-12"),
        ("mysql", "8.4.8", "mysql-8.4"),
        ("mysql", "8.3.0", "mysql-8.0"),
        ("mysql", "9.6.0", "mysql-9"),
        ("mysql", "9", "mysql-9"),
        ("percona", "8.0.20", "mysql-8.0"),
        ("percona", "8.0.19-10", "mysql-8.0.11"),
        ("mysql", "8.0.15", "mysql-8.0.11"),
        ("mysql", "8.0", "mysql-8.0.11"),
        ("percona", "8.4.0-1", "percona-8.4"),
        ("mariadb", "10.3.39-MariaDB", "mysql-5.7"),
        ("mysql", "8.0.36", "mysql-8.0"),
        ("mysql", "5.5.62-log", "mysql-5.5"),
        ("percona", "5.5.27-28.0", "percona-5.5"),
        ("another", "5.7.1", "mysql-5.7"),
        ("mysql", "unreadable", "mysql-5.1"),
    ],
)
def test_the_generation_whose_habits_a_server_has(flavour: str, version: str, generation: str) -> None:
    assert generation_of(flavour, version) == generation


def test_the_numbers_of_a_version() -> None:
    assert release_of("10.11.6-MariaDB") == (10, 11, 6)
    assert release_of("8.4") == (8, 4)
    assert release_of("9") == (9,)
    assert release_of("x") == ()


@pytest.mark.parametrize(
    ("flavour", "version", "measured"),
    [
        ("percona", "5.1.65-14.0-log", "percona-5.1"),
        ("mysql", "5.5.9", "mysql-5.5"),
        ("mysql", "5.6.24", "mysql-5.6"),
        ("mysql", "5.7.22", "mysql-5.7"),
        ("mysql", "8.0.15", "mysql-8.0"),
        ("mysql", "8.4.0", "mysql-9.7"),
        ("mysql", "9.7.4-2", "mysql-9.7"),
        ("mariadb", "12.3.1-MariaDB", "mariadb-11.8"),
        ("percona", "8.0.36-28", "mysql-8.0"),
        ("mariadb", "10.2.11-MariaDB", "mariadb-10.11"),
        ("mariadb", "10.11.19-MariaDB-0+deb12u1", "mariadb-10.11"),
        ("mariadb", "11.4.5-MariaDB", "mariadb-11.8"),
        ("mariadb", "11.8.6-MariaDB", "mariadb-11.8"),
    ],
)
def test_whose_measured_transactions_a_server_has(flavour: str, version: str, measured: str) -> None:
    assert series_of(flavour, version).measured("tpcc") == measured


@pytest.mark.parametrize(
    ("flavour", "version", "is_named"),
    [
        ("mysql", "9.3.0", True),
        ("mysql", "8.4.8", True),
        ("mysql", "8.3.0", False),
        ("mysql", "8.0.15", True),
        ("mysql", "8.0.36", True),
        ("percona", "8.0.15", False),
        ("mariadb", "10.6.1", False),
    ],
)
def test_a_generation_is_named_for_some_releases(flavour: str, version: str, is_named: bool) -> None:
    assert is_generation(flavour, version, generation_of(flavour, version)) == is_named


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("series", SERIES, ids=lambda series: series.name)
def test_every_series_takes_a_file_that_is_there(series: Series, kind: str) -> None:
    found = default_workload(kind, series.name)
    assert (found.workload, found.generation) == (kind, series.measured(kind))
    assert series.generation in GENERATIONS


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("generation", GENERATIONS)
def test_every_generation_of_the_model_has_a_series_and_a_file(generation: str, kind: str) -> None:
    own = [series for series in SERIES if series.generation == generation and generation.startswith(series.flavour)]
    assert own, "some releases of its flavour are modelled like it"
    assert default_workload(kind, generation).generation in {series.measured(kind) for series in own}


@pytest.mark.parametrize("name", sorted(workload_files()))
def test_every_file_is_the_default_of_the_server_that_was_measured(name: str) -> None:
    kind, _, server = name.partition("-")
    measured = load_workload(name)
    assert (measured.workload, measured.generation) == (kind, server), "a file is named by its content"
    assert default_workload(kind, server) == measured
    assert series_of(*server.split("-")).is_measured(kind), "a server that was measured has a series of its own"


def test_the_series_of_a_flavour_stand_from_the_newest_to_the_oldest() -> None:
    for flavour in {series.flavour for series in SERIES}:
        least = [series.least for series in SERIES if series.flavour == flavour]
        assert least == sorted(least, reverse=True)
