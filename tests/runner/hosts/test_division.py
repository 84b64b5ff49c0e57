"""Which session is whose: none is lost, none is there twice."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from flatwater.experiment import make_experiment
from flatwater.experiment.database.login import Login, Tcp
from flatwater.owned import Identity, Permit
from flatwater.plan.fileio import write_real_fileio
from flatwater.plan.part import Part
from flatwater.plan.server import RealDatabase
from flatwater.plan.transactions import Tpcc, TpccMysql
from flatwater.runner.hosts.division import divide, fileio_parts_of, parts_of


@given(hosts=st.integers(1, 64), more=st.integers(0, 10_000))
def test_every_session_has_one_host(hosts: int, more: int) -> None:
    shares = divide(hosts + more, hosts)
    numbers = [first + number for first, count in shares for number in range(count)]
    assert numbers == list(range(hosts + more))
    counts = {count for _, count in shares}
    assert max(counts) - min(counts) <= 1 and min(counts) >= 1


def test_parts_differ_in_their_sessions_only() -> None:
    login = Login(Tcp(("10.0.0.1", 3306)), "me", "", None)
    plan = RealDatabase(
        workload=Tpcc(TpccMysql(), 4, pipeline=False, keying_and_think=False),
        servers=(login,),
        connections=5,
        part=None,
        counted=None,
        rate_per_s=100.0,
        poisson=True,
        continue_on_error=False,
        reconnect_every=0,
        seed=7,
        interval_ms=1000,
    )
    first, second = parts_of(plan, 2)
    assert (first.connections, first.part) == (3, Part(0, 5))
    assert (second.connections, second.part) == (2, Part(3, 5))
    # The rate and the seed are those of all: a session finds its own share by its number.
    for part in (first, second):
        assert (part.rate_per_s, part.seed, part.workload) == (100.0, 7, plan.workload)


def test_threads_are_divided_as_sessions_are() -> None:
    cell = make_experiment(
        {"workload": {"mode": "rndrw", "threads": 5, "rate_per_s": 100}, "storage": {"path": "/a", "size": 2**20}}
    )
    permit = Permit((Identity(1, 2),))
    plan = write_real_fileio(cell, [Path("a/file")], 2**20, 7, permit=permit, verify=None)
    first, second = fileio_parts_of(plan, 2)
    assert (first.threads, first.part) == (3, Part(0, 5))
    assert (second.threads, second.part) == (2, Part(3, 5))
    for part in (first, second):
        assert (part.rate_per_s, part.workload) == (100.0, plan.workload)
        # What the coordinator may write says nothing of what the host may, and its paths are the host's, too.
        assert part.permit is None and part.paths == (str(Path("a/file").absolute()),)
