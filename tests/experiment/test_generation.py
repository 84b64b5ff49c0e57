from __future__ import annotations

import pytest

from flatwater.experiment.database.generation import generation_of, release_of


@pytest.mark.parametrize(
    ("flavour", "version", "generation"),
    [
        ("mariadb", "10.11.6-MariaDB-0+deb12u1", "mariadb-10.11"),
        ("mariadb", "11.4.2-MariaDB", "mariadb-10.11"),
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
    assert release_of("x") == ()
