"""The dashboard for Grafana: every metric in it is one that is told, and it has the shape that an import takes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from servelab import started_run, told, write_latencies, write_seconds

from flatwater.serve.grafana import SCHEMA_VERSION, WIDTH, dashboard
from flatwater.serve.metrics import FAMILIES, Metrics, family

PANELS = dashboard()["panels"]
EXPRESSIONS = [target["expr"] for panel in PANELS for target in panel["targets"]]
VARIABLES = {variable["name"]: variable for variable in dashboard()["templating"]["list"]}


def metrics_in(text: str) -> set[str]:
    return set(re.findall(r"\bflatwater_\w+", text))


@pytest.fixture
def text(tmp_path: Path) -> str:
    """What is told of a run that records everything."""
    result = started_run(tmp_path / "run")
    write_seconds(result, 0, 1)
    write_latencies(result, 2.0, [90])
    write_seconds(result, 2, 1, database__dirty_pct=40.0, storage__utilisation_pct=50.0)
    return told(Metrics(), tmp_path)


def test_every_metric_is_told(text: str) -> None:
    samples = {name for line in text.splitlines() if not line.startswith("#") for name in metrics_in(line)}
    asked = metrics_in(" ".join([*EXPRESSIONS, VARIABLES["run"]["definition"]]))
    assert asked <= samples
    # And every family is shown.
    assert {one.name for one in FAMILIES} == {re.sub("_(bucket|count|sum)$", "", name) for name in asked}


def test_every_family_is_told_with_its_type(text: str) -> None:
    types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
    assert types == {one.name: one.type for one in FAMILIES}


def test_a_metric_that_there_is_not_is_found() -> None:
    with pytest.raises(KeyError):
        family("no_such")


def test_labels_are_those_that_are_told(text: str) -> None:
    labels = set(re.findall(r'(\w+)="', text))
    for panel in PANELS:
        for target in panel["targets"]:
            used = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
            grouped = {name for found in re.findall(r"by \(([^)]*)\)", target["expr"]) for name in found.split(", ")}
            chosen = set(re.findall(r'(\w+)=~"', target["expr"]))
            assert used | grouped | chosen <= labels
            # What is summed away cannot be named.
            assert not grouped or used <= grouped


def test_the_expressions_are_whole() -> None:
    for expression in EXPRESSIONS:
        for one, other in ("()", "{}", "[]"):
            assert expression.count(one) == expression.count(other)
        assert set(re.findall(r"\$(\w+)", expression)) <= {*VARIABLES, "__rate_interval"}


def test_panels_have_places_of_their_own() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in PANELS:
        place = panel["gridPos"]
        assert place["x"] >= 0 and place["x"] + place["w"] <= WIDTH
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert not cells & taken
        taken |= cells
    assert len({panel["id"] for panel in PANELS}) == len(PANELS)
    for panel in PANELS:
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"]) > 0


#: Grafana's model: the fields that its import reads of each part, and their types.
SHAPES: dict[str, dict[str, type | tuple[type, ...]]] = {
    "dashboard": {"uid": str, "title": str, "tags": list, "schemaVersion": int, "panels": list, "templating": dict}
    | {"time": dict, "annotations": dict, "refresh": str, "timezone": str, "graphTooltip": int, "links": list},
    "panel": {"id": int, "type": str, "title": str, "gridPos": dict, "datasource": dict, "fieldConfig": dict}
    | {"options": dict, "targets": list, "description": str},
    "target": {"refId": str, "expr": str, "legendFormat": str, "datasource": dict, "format": str, "range": bool},
}


def shaped(part: dict[str, Any], shape: str) -> None:
    assert part.keys() >= SHAPES[shape].keys()
    for name, kind in SHAPES[shape].items():
        assert isinstance(part[name], kind), (shape, name)


def test_the_shape_that_an_import_takes() -> None:
    whole = dashboard()
    shaped(whole, "dashboard")
    assert "id" not in whole and whole["schemaVersion"] == SCHEMA_VERSION  # an id is that of one installation
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,40}", whole["uid"])
    for panel in whole["panels"]:
        shaped(panel, "panel")
        assert panel["type"] in ("timeseries", "heatmap", "stat")
        assert panel["datasource"]["uid"] == "${source}"
        for target in panel["targets"]:
            shaped(target, "target")
            assert target["format"] == ("heatmap" if panel["type"] == "heatmap" else "time_series")
    assert VARIABLES["source"]["type"] == "datasource" and VARIABLES["run"]["type"] == "query"


def test_the_program_prints_it() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", "from flatwater.cli import main; main()", "serve", "--grafana"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(ran.stdout) == dashboard() and ran.stderr == ""
