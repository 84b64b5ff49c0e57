"""A real server: initialised once, copied for each test."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from flatwater.errors import UserError
from flatwater.server import Binary, Instance, find_server

sys.path.insert(0, str(Path(__file__).parent))  # the import mode of pytest does not

MakeInstance = Callable[..., Instance]


@pytest.fixture(scope="session")
def binary() -> Binary:
    try:
        return find_server()
    except UserError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def empty_data(binary: Binary, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with nothing but the system tables; no server may be started in it."""
    with Instance(binary, tmp_path_factory.mktemp("empty"), {"innodb_log_file_size": "16M"}) as instance:
        instance.initialise()
        return instance.data


@pytest.fixture
def make_instance(binary: Binary, empty_data: Path, tmp_path: Path) -> Iterator[MakeInstance]:
    """`make_instance({"innodb_io_capacity": "300"})` is a server that is initialised, and not yet started."""
    with ExitStack() as made:

        def make(settings: dict[str, str] | None = None, *, name: str = "one", **named: object) -> Instance:
            small = {"innodb_buffer_pool_size": "16M", "innodb_log_file_size": "16M"}
            instance = Instance(binary, tmp_path / name, small | (settings or {}), **named)  # type: ignore[arg-type]
            if not instance.data.exists():
                shutil.copytree(empty_data, instance.data)
            return made.enter_context(instance)

        yield make
