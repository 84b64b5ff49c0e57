"""The matrix of servers runs only when it is asked for by its mark: it takes an hour, and what no test may need."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "servers" in str(config.option.markexpr):
        return
    left_out = [item for item in items if item.get_closest_marker("servers") is not None]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
