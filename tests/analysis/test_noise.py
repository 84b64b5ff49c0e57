from __future__ import annotations

import pytest

from flatwater.analysis.noise import noise_warnings


def test_a_quiet_machine() -> None:
    quiet = {"machine.cpu_steal_pct": 0.1, "machine.cpu_idle_pct": 60.0, "machine.others_cpu_pct": 3.0}
    assert noise_warnings(quiet, 2) == []
    assert noise_warnings({}, None) == []
    assert noise_warnings({"machine.cpu_steal_pct": None}) == []


@pytest.mark.parametrize(
    ("means", "says"),
    [
        ({"machine.cpu_steal_pct": 2.5}, "neighbour"),
        ({"machine.others_cpu_pct": 110.0}, "1.1 cores"),
        ({"machine.cpu_idle_pct": 1.0, "machine.cpu_iowait_pct": 2.0}, "saturated"),
        ({"machine.pressure_cpu_some_pct": 30.0, "machine.cpu_idle_pct": 20.0}, "waited for a CPU"),
        ({"machine.pressure_memory_some_pct": 9.0}, "memory"),
        ({"machine.cpu_iowait_pct": 40.0, "storage.utilisation_pct": 10.0}, "another device"),
        ({"workload.client_cpu_user_pct": 50.0, "workload.client_cpu_system_pct": 100.0}, "load generator"),
    ],
)
def test_each_warning_says_what_and_what_next(means: dict[str, float | None], says: str) -> None:
    (warning,) = noise_warnings(means, 2)
    assert says in warning
    assert "." in warning, "a cause and a next step"


def test_waiting_for_the_device_under_test_is_no_noise() -> None:
    assert (
        noise_warnings({"machine.cpu_iowait_pct": 90.0, "storage.utilisation_pct": 99.0, "machine.cpu_idle_pct": 5.0})
        == []
    )


def test_a_thread_that_wakes_for_every_completion_is_no_contention() -> None:
    alone = {
        "machine.pressure_cpu_some_pct": 17.0,
        "machine.cpu_idle_pct": 54.0,
        "machine.cpu_iowait_pct": 26.0,
        "machine.others_cpu_pct": 1.0,
    }
    assert noise_warnings(alone, 2) == []
    crowded = noise_warnings({**alone, "machine.others_cpu_pct": 60.0}, 2)
    assert [text.split(":")[0] for text in crowded] == [
        "other processes used 0.6 cores",
        "tasks waited for a CPU 17 % of the time (PSI)",
    ]


def test_the_server_under_test_is_no_neighbour() -> None:
    means = {
        "machine.others_cpu_pct": 110.0,
        "database.server_cpu_user_pct": 80.0,
        "database.server_cpu_system_pct": 25.0,
    }
    assert noise_warnings(means, 2, database=True) == []
    (warning,) = noise_warnings(means | {"machine.others_cpu_pct": 205.0}, 2, database=True)
    assert "1.0 cores" in warning


@pytest.mark.parametrize(
    "means",
    [
        {"machine.cpu_idle_pct": 1.0},
        {"machine.pressure_cpu_some_pct": 30.0, "machine.cpu_idle_pct": 20.0},
        {"machine.pressure_memory_some_pct": 9.0},
        {"workload.client_cpu_user_pct": 50.0, "workload.client_cpu_system_pct": 100.0},
    ],
)
def test_a_database_is_told_nothing_of_files(means: dict[str, float | None]) -> None:
    (warning,) = noise_warnings(means, 2, database=True)
    assert not [word for word in ("threads,", "io_uring", "direct", "blocks") if word in warning]


def test_nobody_else_is_blamed_for_the_wait_of_a_device_that_flatwater_serves() -> None:
    means: dict[str, float | None] = {"machine.cpu_iowait_pct": 40.0, "storage.utilisation_pct": 10.0}
    assert any("another device" in warning for warning in noise_warnings(means))
    assert noise_warnings(means, served=True) == []
