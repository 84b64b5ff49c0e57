"""Every server that can be had here, through every step (`make test-servers`)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress

import pytest
from benchmarks.servers.bench import Bench, why
from benchmarks.servers.cache import locate
from benchmarks.servers.records import Record, now, write_record
from benchmarks.servers.registry import SERVERS, Server
from benchmarks.servers.steps import STEPS, Step

pytestmark = pytest.mark.servers


# A fixture of the module, not of the session: the data of a server are gone before those of the next are made.
@pytest.fixture(scope="module", params=SERVERS, ids=lambda server: server.name)
def bench(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    server: Server = request.param
    binary = locate(server)
    if binary is None:
        pytest.skip(f"{server.title} is not on this machine: {server.origin.about}; or give {server.variable}")
    yield Bench(server.name, binary, tmp_path_factory.mktemp(server.name))


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
def test_a_step(bench: Bench, step: Step) -> None:
    begun = time.monotonic()
    title = bench.binary.title
    try:
        found = step.run(bench)
    except KeyboardInterrupt:
        raise  # an interrupted step is not one that failed
    except BaseException as error:
        took_s = round(time.monotonic() - begun, 1)
        with suppress(OSError):
            write_record(bench.name, Record(step.name, title, now(), False, took_s, failure=why(error)))
        raise
    took_s = round(time.monotonic() - begun, 1)
    write_record(bench.name, Record(step.name, title, now(), True, took_s, found.figures, found.missing))
