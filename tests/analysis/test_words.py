from __future__ import annotations

import pytest

from flatwater.analysis.words import what_is_done


@pytest.mark.parametrize(
    ("unit", "what"),
    [
        ("NOTPM", "transactions"),
        ("tps", "transactions"),
        ("qps", "transactions"),
        ("IOPS", "requests"),
        ("", "requests"),
    ],
)
def test_a_database_does_transactions(unit: str, what: str) -> None:
    assert what_is_done(unit) == what
