"""The small tables: published figures beside ours; for a database's cell, response times, consistency, counts,
recoveries and servers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from flatwater.report.charts.transactions import NAMES
from flatwater.report.swept import label
from flatwater.report.units import MISSING, binary_bytes, microseconds, number, percent, seconds
from flatwater.results import CellSummary, Result
from flatwater.results.agreement import PREDICTED, STANDINGS, Agreement, Finding, Published
from flatwater.results.schema import FieldValues, ServerFacts

#: The most rows of one table: TPC-C has twelve conditions on each of 64 servers, and a folder from another source may
#: have any number.
ROWS_MAX = 800


@dataclass(frozen=True)
class Table:
    """A table as text; `bad` are the indexes of the rows that need attention."""

    title: str
    head: list[str]
    rows: list[list[str]]
    bad: frozenset[int] = frozenset()


def tables(summary: CellSummary) -> list[Table]:
    """The tables of one cell, without empty ones."""
    found = [
        _thresholds(summary),
        _limits(summary),
        _counters(summary),
        _recoveries(summary),
        _servers(summary),
        _load_hosts(summary),
        _consistency(summary),
        _drives(summary),
        _statements(summary),
        _gaps(summary),
    ]
    return [table for table in found if table.rows]


def _thresholds(summary: CellSummary) -> Table:
    """The limits of the experiment beside the cell's figures."""
    rows = [
        [one.name, _limit_text(one.limit), _value_text(one.value), "passed" if one.passed else "failed", one.text]
        for one in summary.thresholds[:ROWS_MAX]
    ]
    bad = frozenset(place for place, one in enumerate(summary.thresholds[:ROWS_MAX]) if not one.passed)
    return Table("Thresholds", ["threshold", "limit", "value", "", "in words"], rows, bad)


def _load_hosts(summary: CellSummary) -> Table:
    """The hosts that made the load: their shares, their processors, and how well their clocks are known."""
    rows = []
    for place, host in enumerate(summary.load_hosts[:ROWS_MAX]):
        means = {
            name: found.mean
            for name in ("ops_per_s", "client_cpu_pct", "machine_idle_pct")
            if (found := summary.metrics.get(f"workload.host{place}_{name}")) is not None
        }
        used = means.get("client_cpu_pct")
        rows.append(
            [
                host.host,
                f"{host.first} to {host.first + host.sessions - 1}",
                f"{_number_or_missing(means.get('ops_per_s'))} /s",
                f"{_number_or_missing(used / 100 if used is not None else None)} cores",
                f"{_number_or_missing(means.get('machine_idle_pct'))} %",
                _give_or_take(host.skew_us, host.skew_bound_us),
                microseconds(host.instant_bound_us),
                microseconds(host.began_late_us),
                microseconds(host.interval_late_us),
                "" if host.drift_ppm is None else f"{host.drift_ppm:+.1f} ± {host.drift_bound_ppm or 0:.1f} ppm",
            ]
        )
    head = ["load host", "sessions", "rate", "load generator", "machine idle", "clock ahead by"]
    head += ["common instant known to", "began late by", "intervals late by", "clock drift"]
    return Table("Load hosts", head, rows)


def _number_or_missing(value: float | None) -> str:
    """A number, or the sign for one that is not known."""
    return number(value) if value is not None else MISSING


def _give_or_take(value_us: float | None, bound_us: float | None) -> str:
    if value_us is None or bound_us is None:
        return MISSING
    return f"{value_us / 1e3:+,.2f} ± {bound_us / 1e3:,.2f} ms"


def _statements(summary: CellSummary) -> Table:
    """Of an observed server, what took most of the time."""
    rows = [
        [
            one.text or "(its text is not kept)",
            one.schema_name,
            f"{one.count:,}",
            percent(one.share),
            microseconds(one.mean_us),
            f"{one.rows_examined / one.count:,.0f}",
            f"{one.rows_sent / one.count:,.1f}",
            f"{one.without_index:,}",
        ]
        for one in summary.statements[:ROWS_MAX]
    ]
    head = ["statement", "schema", "count", "of the time", "mean", "rows examined", "rows sent", "without an index"]
    return Table("Statements by time", head, rows)


def _gaps(summary: CellSummary) -> Table:
    """The figures that could not be recorded."""
    rows = [[gap.what, gap.why, gap.remedy] for gap in summary.gaps[:ROWS_MAX]]
    return Table("Not recorded", ["what", "why", "what makes it available"], rows)


def _limit_text(limit: float | list[str]) -> str:
    return " or ".join(limit) if isinstance(limit, list) else number(limit)


def _value_text(value: float | str | None) -> str:
    return value if isinstance(value, str) else number(value)


def published_table(result: Result) -> Table:
    """Every published figure beside ours, cell by cell. It is empty if no cell has two figures, because the sweep's
    table has them.
    """
    found = [
        (cell, one)
        for cell in result.cells
        if (summary := cell.summary) is not None
        for one in ([summary.published] if summary.published else []) + summary.published_others
    ]
    if len(found) < 2 or all(cell.summary is not None and not cell.summary.published_others for cell, _ in found):
        return Table("", [], [])
    many = len(result.cells) > 1
    shown = found[:ROWS_MAX]
    reasons = any(why_not(one) for _, one in shown)
    # What nothing was fitted to needs no column.
    standings = any(one.standing != PREDICTED for _, one in shown)
    rows = [
        [
            *([label(cell)] if many else []),
            metric_words(one.metric),
            published_text(one),
            figure_text(one, one.ours),
            percent(one.error, signed=True),
            agrees_text(one.agrees),
            *([why_not(one)] if reasons else []),
            *([standing_text(one)] if standings else []),
            one.source,
        ]
        for cell, one in shown
    ]
    why = ["why not"] if reasons else []
    head = [
        *(["cell"] if many else []),
        "figure",
        "published",
        "ours",
        "error",
        "agrees",
        *why,
        *(["standing"] if standings else []),
        "source",
    ]
    return Table("Beside what was published", head, rows)


def shape_table(result: Result) -> Table:
    """The published shapes beside ours; empty if none was published."""
    findings = result.agreement.findings[:ROWS_MAX] if result.agreement is not None else []
    reasons = any(why_not(finding) for finding in findings)
    rows = [
        [*finding_words(one), agrees_text(one.agrees), *([why_not(one)] if reasons else []), one.source]
        for one in findings
    ]
    why = ["why not"] if reasons else []
    return Table("The shape", ["what", "published", "ours", "agrees", *why, "source"], rows)


def finding_words(finding: Finding) -> list[str]:
    """The subject of a finding, the published result, our result."""
    metric = "throughput" if finding.metric == "mean" else metric_words(finding.metric)
    what = {"verdict": "the line", "order": f"order of {metric}", "optimum": f"best {metric}"}[finding.kind]
    return [f"{what}: {finding.about}" if finding.about else what, finding.published, finding.ours]


def agrees_text(agrees: bool | None) -> str:
    """A word for a table; empty if it is not known."""
    return "" if agrees is None else "yes" if agrees else "no"


def standing_text(one: Published | Finding) -> str:
    """What the agreement proves, and why it is no more."""
    between = {"predicted": "", "follows": ": ", "fitted": " by "}[one.standing]
    return f"{one.standing}{between}{one.by or ''}" if one.by else one.standing


def why_not(one: Published | Finding) -> str:
    """The file's reason why ours does not agree; empty if it does."""
    return one.missed or "" if one.agrees is False else ""


def agreement_text(agreement: Agreement) -> str:
    """How far a result agrees, in a sentence."""
    parts = []
    if agreement.figures:
        parts.append(
            f"{agreement.agreeing} of {agreement.figures} figures agree ({agreement.within_10_pct} within 10 %, "
            f"{agreement.within_15_pct} within 15 %, {agreement.within_25_pct} within 25 %)"
        )
        if set(agreement.standings) - {PREDICTED}:
            words = {"predicted": "predicted", "follows": "that follow from fitted ones", "fitted": "fitted"}
            counts = [(agreement.standings.get(name), words[name]) for name in STANDINGS]
            told = [f"{one.agreeing} of {one.figures} {word}" for one, word in counts if one is not None]
            parts.append(f"of them {', '.join(told)}")
    if agreement.tau is not None:
        parts.append(f"Kendall's tau {agreement.tau:.2f}")
    if agreement.shapes:
        parts.append(f"{agreement.shapes_agreeing} of {agreement.shapes} shapes agree")
    return f"{', '.join(parts)}." if parts else ""


def published_text(one: Published) -> str:
    """A published figure, a range or a bound, with its unit; of a ratio also its reference."""
    first = "at least " if one.at_least else ""
    of = "" if one.relative_to is None else f" of {values_text(one.relative_to)}"
    last = "" if one.up_to is None else f" to {figure_text(one, one.up_to)}"
    unit = "" if is_bytes(one) else f" {one.unit}"
    return f"{first}{figure_text(one, one.value)}{last}{unit}{of}"


def is_bytes(one: Published) -> bool:
    """Whether the figure is in bytes, and so has its own unit in the text."""
    return one.relative_to is None and one.metric.removesuffix(".max").endswith("_bytes")


def figure_text(one: Published, value: float | None) -> str:
    """A value of a figure, unchanged or in a fitting unit."""
    return binary_bytes(value) if value is not None and is_bytes(one) else number(value)


def values_text(values: FieldValues) -> str:
    """Fields and values in a few words, like the labels of cells."""
    return ", ".join(f"{name.rpartition('.')[2].replace('_', ' ')} {_word(value)}" for name, value in values.items())


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


#: The layers of the recorded series, and the unit at the end of a series' name.
LAYERS = ("workload", "database", "cache", "storage", "machine")
_UNIT = re.compile(r"_(bytes|pct|us|s)$(?<!per_s)")


def metric_words(metric: str) -> str:
    """The name of a published figure's metric for readers: `latency_us.p95` -> latency p95.

    The unit at the end of a recorded series is left out, because it stands at the figure.
    """
    words = {
        "fast": "fast level",
        "steady": "steady level",
        "transition_s": "transition",
        "transition_begin_s": "begin of the transition",
        "transition_end_s": "end of the transition",
    }
    if metric.startswith("latency_us."):
        return f"latency {metric.removeprefix('latency_us.').replace('p999', 'p99.9')}"
    layer, dot, series = metric.partition(".")
    if layer in LAYERS and dot and series:
        return _UNIT.sub("", series).replace("_", " ")
    return words.get(metric, metric)


def consistency_text(summary: CellSummary) -> str:
    """How many of the applicable and checked conditions hold; empty if none was checked."""
    checked = [one for one in summary.consistency if one.applies and one.holds is not None]
    holding = sum(1 for one in checked if one.holds)
    return f"{holding} of {len(checked)} conditions hold" if checked else ""


def kind_name(kind: str) -> str:
    """A kind of transaction in the spelling of its specification."""
    return NAMES.get(kind, kind)


def _limits(summary: CellSummary) -> Table:
    rows = [
        [
            kind_name(one.kind),
            microseconds(one.p90_us),
            microseconds(one.limit_us),
            "yes" if one.within else "no",
        ]
        for one in summary.response_limits[:ROWS_MAX]
    ]
    bad = frozenset(place for place, one in enumerate(summary.response_limits) if not one.within)
    return Table(
        "Response times", ["transaction", "90 % took at most", "the specification allows", "within"], rows, bad
    )


def _consistency(summary: CellSummary) -> Table:
    many = any(one.instance for one in summary.consistency)
    rows, bad = [], set()
    for place, one in enumerate(summary.consistency[:ROWS_MAX]):
        if not one.applies:
            word = "does not apply"
        elif one.holds is None:
            word = "not checked"
        elif one.holds:
            word = "holds"
        else:
            bad.add(place)
            word = "violated" if one.violations is None else f"violated {one.violations:,} times"
        number = f"{one.number}, server {one.instance}" if many else str(one.number)
        rows.append([number, one.title, word, one.note])
    return Table("Consistency", ["condition", "what must hold", "", ""], rows, frozenset(bad))


def _drives(summary: CellSummary) -> Table:
    """What the cell did to the drives below, and how long they last; of modelled ones what is predicted."""
    health = summary.health
    rows = [[sentence] for sentence in (health.text if health is not None else [])[:ROWS_MAX]]
    modelled = health is not None and any(drive.modelled for drive in health.drives)
    return Table("Drives", ["as the model predicts" if modelled else "what they say"], rows)


def _counters(summary: CellSummary) -> Table:
    # A time is no number of events.
    counted = [(name, count) for name, count in summary.counters.items() if not name.endswith(("_us", "_ms"))]
    rows = [[name.replace("_", " "), f"{count:,}"] for name, count in counted[:ROWS_MAX]]
    return Table("Counted while measuring", ["what", "times"], rows)


def _recoveries(summary: CellSummary) -> Table:
    rows = [[str(place + 1), seconds(took_s)] for place, took_s in enumerate(summary.recoveries_s[:ROWS_MAX])]
    return Table("Recoveries", ["", "until the server answered again"], rows)


def _servers(summary: CellSummary) -> Table:
    """The servers; identical servers share a row."""
    alike: dict[tuple[str, str, str], list[ServerFacts]] = {}
    for one in summary.servers:
        alike.setdefault((one.flavour, one.version, one.comment), []).append(one)
    rows = []
    for (flavour, version, comment), servers in list(alike.items())[:ROWS_MAX]:
        took = [one.started_s for one in servers if one.started_s is not None]
        numbers = _numbers([one.instance for one in servers])
        began = seconds(max(took)) if took else "it ran already"
        # Its cost is in the figures: who reads them must know of it.
        tls = ", ".join(dict.fromkeys(one.tls or "none" for one in servers))
        rows.append([numbers, flavour, version, comment, began, tls])
    many = len(summary.servers) > 1
    head = ["server", "flavour", "version", "", "started within", "TLS"]
    return Table("Servers" if many else "The server", head, rows)


def _numbers(numbers: list[int]) -> str:
    consecutive = numbers == list(range(numbers[0], numbers[-1] + 1))
    return f"{numbers[0]} to {numbers[-1]}" if consecutive and len(numbers) > 2 else ", ".join(map(str, numbers))
