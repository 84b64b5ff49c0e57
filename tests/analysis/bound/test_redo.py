from __future__ import annotations

import pytest

from flatwater.analysis.bound.redo import redo_limits

MIB = 2**20


def test_mysql_5_5_with_two_logs_of_2000_mib() -> None:
    """The ages that `log_calc_max_ages` gives: 2834, 3037 and 3239 MiB."""
    found = redo_limits("mysql-5.5", 3239 * MIB)
    assert found.async_bytes / MIB == pytest.approx(2834, abs=1)
    assert found.sync_bytes / MIB == pytest.approx(3037, abs=1)


def test_mariadb_makes_nobody_wait_before_the_last_limit() -> None:
    """Of 1 GiB: 869,013,136 bytes are the most, and the page cleaner hurries from 760,386,494 on."""
    found = redo_limits("mariadb-10.11", 869_013_136)
    assert found.sync_bytes == found.max_bytes
    assert found.async_bytes == pytest.approx(760_386_494, rel=1e-6)


def test_mysql_8_counts_in_shares_of_its_capacity() -> None:
    for generation in ("mysql-8.0.11", "mysql-8.0", "mysql-8.4"):
        found = redo_limits(generation, 840.0)
        assert (found.async_bytes, found.sync_bytes) == (730.0, 840.0)


def test_percona_s_target_lowers_the_first_limit_only() -> None:
    plain, target = redo_limits("percona-5.5", 3239.0), redo_limits("percona-5.5", 3239.0, 800.0)
    assert target.async_bytes == 700.0
    assert target.sync_bytes == plain.sync_bytes
