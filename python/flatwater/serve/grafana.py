"""A dashboard of the metrics for Grafana, in the JSON that its import takes (the "classic" model).

https://grafana.com/docs/grafana/latest/dashboards/build-dashboards/view-dashboard-json-model/
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flatwater.serve.metrics import family

Json = dict[str, Any]
#: The version of the model that is written: that of Grafana 9. Newer ones bring it up to theirs when they import it.
SCHEMA_VERSION = 36
#: A dashboard is 24 units wide.
WIDTH, PANEL_HEIGHT = 24, 8
#: The data source and the runs are chosen in the dashboard.
_SOURCE = {"type": "prometheus", "uid": "${source}"}
_CHOSEN = 'run=~"$run"'
_EACH = "{{run}}, cell {{cell}}"


@dataclass(frozen=True)
class Query:
    """A line of a panel, or several."""

    expression: str
    legend: str
    heatmap: bool = False


@dataclass(frozen=True)
class Panel:
    """A panel: what it shows, in a unit of Grafana's."""

    title: str
    about: str
    unit: str
    queries: tuple[Query, ...]
    kind: str = "timeseries"
    width: int = WIDTH // 2
    #: The end of the axis; None for that of the values.
    top: float | None = None


def _gauge(name: str) -> str:
    return f"{family(name).name}{{{_CHOSEN}}}"


def _quantile(share: float) -> Query:
    latency = f"{family('latency_seconds').name}_bucket{{{_CHOSEN}}}"
    rate = f"sum by (le, run, cell) (rate({latency}[$__rate_interval]))"
    return Query(f"histogram_quantile({share:g}, {rate})", f"p{100 * share:g} {_EACH}")


def panels() -> list[Panel]:
    """The panels. `family` fails for a metric that there is not."""
    latency, runs = family("latency_seconds"), family("runs")
    requests = f"sum by (run, cell) (rate({latency.name}_count{{{_CHOSEN}}}[$__rate_interval]))"
    spread = f"sum by (le) (increase({latency.name}_bucket{{{_CHOSEN}}}[$__rate_interval]))"
    throughput = family("throughput")
    return [
        Panel(
            "Throughput",
            throughput.about,
            "short",
            (Query(_gauge("throughput"), f"{_EACH} ({{{{unit}}}})"),),
        ),
        Panel(
            "Latency",
            "Percentiles between two scrapes, estimated within the buckets of the histogram.",
            "s",
            (_quantile(0.5), _quantile(0.99), _quantile(0.999)),
        ),
        Panel(
            "Checkpoint age",
            f"{family('checkpoint_age_bytes').about} {family('checkpoint_age_max_bytes').about}",
            "bytes",
            (
                Query(_gauge("checkpoint_age_bytes"), _EACH),
                Query(_gauge("checkpoint_age_max_bytes"), f"limit of {_EACH}"),
            ),
        ),
        Panel(
            "Dirty pages",
            family("dirty_ratio").about,
            "percentunit",
            (Query(_gauge("dirty_ratio"), _EACH),),
            top=1.0,
        ),
        Panel(
            "Device",
            family("device_busy_ratio").about,
            "percentunit",
            (Query(_gauge("device_busy_ratio"), _EACH),),
            top=1.0,
        ),
        Panel("Requests", "Requests that ended, of the measured time.", "reqps", (Query(requests, _EACH),)),
        Panel(
            "Latency, all requests",
            latency.about,
            "s",
            (Query(spread, "{{le}}", heatmap=True),),
            kind="heatmap",
            width=18,
        ),
        Panel("Runs", runs.about, "short", (Query(f"sum({runs.name})", ""),), kind="stat", width=6),
    ]


def dashboard() -> Json:
    """The dashboard. Its data source and its runs are chosen in it, so that it fits every installation."""
    found: list[Json] = []
    across, down = 0, 0
    for number, panel in enumerate(panels(), 1):
        if across + panel.width > WIDTH:
            across, down = 0, down + PANEL_HEIGHT
        place = {"h": PANEL_HEIGHT, "w": panel.width, "x": across, "y": down}
        across += panel.width
        found.append(_panel(number, panel, place))
    return {
        "uid": "flatwater-runs",
        "title": "flatwater: runs under way",
        "description": "What flatwater's runs record, second by second.",
        "tags": ["flatwater"],
        "schemaVersion": SCHEMA_VERSION,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "5s",
        "time": {"from": "now-15m", "to": "now"},
        "timezone": "browser",
        "templating": {"list": [_source(), _runs()]},
        "annotations": {"list": []},
        "links": [],
        "panels": found,
    }


def _source() -> Json:
    return {"name": "source", "label": "Data source", "type": "datasource", "query": "prometheus", "hide": 0}


def _runs() -> Json:
    query = f"label_values({family('throughput').name}, run)"
    return {
        "name": "run",
        "label": "Run",
        "type": "query",
        "datasource": _SOURCE,
        "query": {"query": query, "refId": "runs"},
        "definition": query,
        # At each change of the time range, as runs come and go.
        "refresh": 2,
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": ["All"], "value": ["$__all"]},
        "hide": 0,
    }


def _panel(number: int, panel: Panel, place: dict[str, int]) -> Json:
    defaults: Json = {"unit": panel.unit, "min": 0}
    if panel.top is not None:
        defaults["max"] = panel.top
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.about,
        "datasource": _SOURCE,
        "gridPos": place,
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "options": _OPTIONS[panel.kind],
        "targets": [_target(chr(ord("A") + place), query) for place, query in enumerate(panel.queries)],
    }


def _target(letter: str, query: Query) -> Json:
    return {
        "refId": letter,
        "datasource": _SOURCE,
        "expr": query.expression,
        "legendFormat": query.legend,
        "format": "heatmap" if query.heatmap else "time_series",
        "range": True,
    }


#: What each kind of panel is told.
_OPTIONS: dict[str, Json] = {
    "timeseries": {
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []},
        "tooltip": {"mode": "multi", "sort": "none"},
    },
    "heatmap": {"calculate": False, "yAxis": {"unit": "s"}, "color": {"mode": "scheme", "scheme": "Blues"}},
    "stat": {"reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False}, "colorMode": "none"},
}
