"""Replication of an observed server, channel by channel."""

from __future__ import annotations

from flatwater.probe.server.replication import Channel, _channel, figures_of
from flatwater.results import Event
from flatwater.runner.stack.workload.real.replicas import Replicas, left_stopped


def channel(name: str = "", lag_s: float | None = 0.0, *, applies: bool = True, receives: bool = True) -> Channel:
    return Channel(name, lag_s, receives, applies, applier_error="" if applies else "Error 'x' on query")


def test_words_of_servers_old_and_new() -> None:
    old = {
        "slave_io_running": "Yes",
        "slave_sql_running": "No",
        "seconds_behind_master": None,
        "last_sql_error": "a\nb",
    }
    assert _channel({**old, "connection_name": "east"}) == Channel("east", None, True, False, applier_error="a b")
    new = {"replica_io_running": "Connecting", "replica_sql_running": "Yes", "seconds_behind_source": "7"}
    assert _channel({**new, "channel_name": ""}) == Channel("", 7.0, False, True)


def test_figures() -> None:
    assert figures_of(()) == {}
    channels = (channel("a", 3.0), channel("b", None, applies=False))
    assert figures_of(channels) == {
        "replica_lag_s": 3.0, "replica_appliers_stopped": 1.0, "replica_receivers_stopped": 0.0
    }  # fmt: skip


def test_what_stops_and_goes_on() -> None:
    replicas = Replicas()
    assert replicas.see(1, (channel(),)) == []
    (told,) = replicas.see(2, (channel(applies=False),))
    assert (told.kind, told.text) == ("fault", "replication: the applier does not run: Error 'x' on query")
    assert replicas.see(3, (channel(applies=False),)) == []
    (told,) = replicas.see(4, (channel(),))
    assert told.kind == "recovered" and "applier runs again" in told.text


def test_what_stands_still_from_the_beginning() -> None:
    (told,) = Replicas().see(1, (channel("east", receives=False),))
    assert told.text == "replication: the receiver of east does not run"


def test_what_does_not_go_on_is_warned_of() -> None:
    replicas, told = Replicas(), []
    for at_s, applies, receives in ((1, True, True), (2, False, True), (3, True, False), (4, False, False)):
        channels = (channel("east", applies=applies, receives=receives),)
        told += [Event(time_s=at_s, kind="fault", text=one.text) for one in replicas.see(at_s, channels)]
    assert left_stopped(told[:1]) == ["from 2 s on, replication: the applier of east does not run: Error 'x' on query"]
    assert left_stopped(told[:2]) == []
    assert [one.split(",")[0] for one in left_stopped(told)] == ["from 3 s on", "from 4 s on"]
