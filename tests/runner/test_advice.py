"""Advice that has no place among the bounds of a run: it is a matter of safety."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from serverlab import TPCC, ServerLab

from flatwater.advise.adviser import consult
from flatwater.results import open_result


@pytest.mark.slow
def test_a_mount_without_barriers_is_a_danger(
    servers: ServerLab, device: Callable[..., Path], mount: Callable[..., Path]
) -> None:
    place = mount(device(2048, "ext4"), "-o", "barrier=0")
    ran = servers.go(TPCC, storage=place)
    assert "write-barriers" in [one.rule for one in consult(open_result(ran.out)).advice]
