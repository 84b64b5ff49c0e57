from __future__ import annotations

from flatwater.report.charts.cpu import Cpu
from flatwater.report.recorded import Recorded


def test_the_machine_is_stacked_and_the_client_is_below(recorded: Recorded) -> None:
    [figure] = Cpu().draw(recorded)
    stacked = [trace["name"] for trace in figure.data if "stackgroup" in trace]
    below = [trace["name"] for trace in figure.data if trace["yaxis"] == "y2"]
    assert stacked == ["user", "system", "iowait", "steal"]
    assert below == ["client, user", "client, system", "others"]
    assert figure.layout["yaxis"]["range"] == [0, 102]
    assert figure.layout["yaxis2"]["range"][1] > 100


def test_a_missing_second_is_not_an_idle_one(recorded: Recorded) -> None:
    [figure] = Cpu().draw(recorded)
    assert {trace["stackgaps"] for trace in figure.data if "stackgroup" in trace} == {"interpolate"}


def test_a_server_beside_its_client(recorded_crash: Recorded) -> None:
    [figure] = Cpu().draw(recorded_crash)
    below = {trace["name"]: trace for trace in figure.data if trace["yaxis"] == "y2"}
    assert list(below) == ["client, user", "client, system", "server, user", "server, system", "all but the client"]
    assert below["client, user"]["line"]["dash"] == "dot"
    assert "dash" not in below["server, user"]["line"]
