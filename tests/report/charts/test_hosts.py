from __future__ import annotations

from flatwater.report.charts.hosts import Hosts
from flatwater.report.recorded import Recorded


def on_hosts(recorded: Recorded, hosts: int, *, idle: bool = True) -> Recorded:
    """A cell whose load so many hosts made; their series are those of other servers."""
    lines = {}
    for host in range(hosts):
        own = recorded.lines[f"workload.instance{host % 4}_throughput"]
        lines[f"workload.host{host}_ops_per_s"] = own
        if idle:
            lines[f"workload.host{host}_machine_idle_pct"] = own
    return Recorded(recorded.cell, lines, recorded.span_s)


def test_a_line_for_each_host_and_its_processors(recorded_crash: Recorded) -> None:
    [figure] = Hosts().draw(on_hosts(recorded_crash, 3))
    assert [trace["name"] for trace in figure.data] == ["host 1", "host 2", "host 3"] * 2
    assert [trace.get("showlegend", True) for trace in figure.data] == [True] * 3 + [False] * 3
    titles = [figure.layout[axis]["title"]["text"] for axis in ("yaxis", "yaxis2")]
    assert titles == ["each host, operations/s", "processors idle, %"]


def test_one_host_is_drawn_too(recorded_crash: Recorded) -> None:
    """Its processors are those of another machine than the server's."""
    [figure] = Hosts().draw(on_hosts(recorded_crash, 1))
    assert len(figure.data) == 2
    [figure] = Hosts().draw(on_hosts(recorded_crash, 1, idle=False))
    assert len(figure.data) == 1


def test_more_hosts_than_colours_are_one_colour(recorded_crash: Recorded) -> None:
    [figure] = Hosts().draw(on_hosts(recorded_crash, 16))
    assert len({trace["line"]["color"] for trace in figure.data}) == 1
    assert not any(trace.get("showlegend", True) for trace in figure.data)


def test_a_load_of_this_machine_has_no_hosts(recorded_crash: Recorded) -> None:
    assert Hosts().draw(recorded_crash) == []
