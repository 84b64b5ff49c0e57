"""A server that makes a file for its doublewrite buffer is started and stopped once, so that the file is whole."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from flatwater.runner.stack.database.real.fleet import make_doublewrite_file
from flatwater.server import Instance


class Starts(SimpleNamespace):
    """Notes what is asked of a server."""

    def start(self) -> None:
        self.asked.append("start")

    def stop(self) -> None:
        self.asked.append("stop")


@pytest.mark.parametrize(
    ("settings", "placed", "there", "asked"),
    [
        ({}, {}, "", []),
        ({"innodb_doublewrite_file": "ib_doublewrite"}, {}, "", ["start", "stop"]),
        ({"innodb_doublewrite_file": "ib_doublewrite"}, {}, "data/ib_doublewrite", []),
        ({}, {"innodb_doublewrite_file": "other/ib_doublewrite"}, "", ["start", "stop"]),
        ({}, {"innodb_doublewrite_file": "other/ib_doublewrite"}, "other/ib_doublewrite", []),
        ({"innodb_doublewrite_file": "one"}, {"innodb_doublewrite_file": "other/one"}, "data/one", ["start", "stop"]),
    ],
)
def test_a_new_file_is_written_before_the_server_is_used(
    tmp_path: Path, settings: dict[str, str], placed: dict[str, str], there: str, asked: list[str]
) -> None:
    for folder in ("data", "other"):
        (tmp_path / folder).mkdir()
    if there:
        (tmp_path / there).touch()
    placed = {name: str(tmp_path / value) for name, value in placed.items()}
    instance: Any = Starts(settings=settings, placed=placed, data=tmp_path / "data", asked=[])
    make_doublewrite_file(cast("Instance", instance))
    assert instance.asked == asked
