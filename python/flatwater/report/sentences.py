"""The sentences at the top of the page: the verdict, what the reader must know first, and what was real."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any, Literal, get_args

from flatwater.report.settings import Setting, ratio, settings_of
from flatwater.report.swept import label
from flatwater.report.tables import kind_name, metric_words, values_text
from flatwater.report.units import microseconds, number, percent, seconds
from flatwater.results import Cell, CellSummary, Result, Verdict

#: A mean of fewer intervals than this is not reliable, whatever its error bar.
SAMPLES_FEW = 30
#: The most cells that a notice names individually.
NAMED_MAX = 4
#: The most kinds of published figures that the headline names.
PUBLISHED_MAX = 2
#: The runner's warning of an injected fault. Here it comes first, and with more emphasis.
FAULT_WARNING = "a fault was injected on purpose"
_FIGURES = re.compile(r"[0-9][0-9.,]*")
LAYERS = ("workload", "database", "cache", "storage")


@dataclass(frozen=True)
class Notice:
    """A fact that the reader must know before the figures."""

    level: Literal["bad", "warning", "good"]
    text: str


@dataclass(frozen=True)
class Badge:
    """One layer: whether it was real, and which device."""

    layer: str
    kind: Literal["real", "modelled", "none", "unknown"]
    text: str


def finished(result: Result) -> list[tuple[Cell, CellSummary]]:
    """The cells that have a summary, each with it, in the order of the sweep."""
    return [(cell, cell.summary) for cell in result.cells if cell.summary is not None]


def headline(result: Result) -> str:
    """The verdict in at most two sentences: what was judged, and how it agrees with what was published."""
    done = finished(result)
    if not done:
        return "No cell of this run finished, so nothing was judged."
    if len(result.cells) == 1:
        summary = done[0][1]
        if summary.verdict_text:
            return summary.verdict_text
        return f"{mean_text(summary)}, {summary.verdict or 'not judged'}."
    return " ".join(sentence for sentence in (_judged(result, done), _published(done)) if sentence)


def verdict_word(summary: CellSummary) -> str:
    """The verdict in one word, for the table."""
    return summary.verdict or ("not judged" if summary.status == "complete" else summary.status)


def mean_text(summary: CellSummary) -> str:
    """The mean with its 95 % confidence interval and its unit, as text; `no mean` if none was measured."""
    if summary.mean is None:
        return "no mean"
    error = f" ± {number(summary.mean_ci95, 3)}" if summary.mean_ci95 is not None else ""
    return f"{number(summary.mean)}{error} {summary.unit}"


def _judged(result: Result, done: list[tuple[Cell, CellSummary]]) -> str:
    """How many cells are flat, and the range of their means."""
    counts = Counter(summary.verdict for _, summary in done)
    words = {"dips": "with dips", "stalls": "with stalls"}
    parts = [f"{counts[word]} {words.get(word, word)}" for word in get_args(Verdict) if counts[word]]
    parts += [f"{counts[None]} not judged"] if counts[None] else []
    if counts[None] == len(done):
        told = f"None of the {len(done)} finished cells could be judged"
    elif len(parts) == 1 and len(done) > 1:
        told = f"All {len(done)} finished cells are {parts[0].split(' ', 1)[1]}"
    else:
        told = f"Of {len(done)} finished cells, {', '.join(parts)}"
    span = _range(result)
    return f"{told}: {span}." if span else f"{told}."


def _range(result: Result) -> str:
    """The highest and the lowest mean of the settings and their ratio; empty if there is nothing to compare."""
    settings = settings_of(result)
    units = {summary.unit for setting in settings for summary in setting.summaries}
    if len(settings) < 2 or len(units) != 1:
        return ""
    best, worst = max(settings, key=lambda one: one.mean), min(settings, key=lambda one: one.mean)
    if best.mean == worst.mean:
        return f"{'both' if len(settings) == 2 else 'all'} at {mean_text(best.summaries[0])}"
    ends = f"the highest mean is {_level(best)}, the lowest {_level(worst)}"
    found = ratio(best, worst)
    if found is None:
        return ends
    if found.shows_no_difference:
        return f"{ends}, and no difference is shown (ratio {found.interval}, 95 % CI)"
    interval = f" (95 % CI {found.interval})" if found.interval else ""
    return f"{ends}, a ratio of {found.text}{interval}"


def _level(setting: Setting) -> str:
    return f"{number(setting.mean)} {setting.summaries[0].unit} ({setting.name})"


def _published(done: list[tuple[Cell, CellSummary]]) -> str:
    """The error against published figures, with one clause for each metric: errors of a latency and of a rate are
    unrelated.
    """
    repeats: dict[str, dict[str, list[float]]] = {}
    for cell, summary in done:
        setting = json.dumps(cell.set, sort_keys=True, default=str)
        for one in ([summary.published] if summary.published else []) + summary.published_others:
            if one.error is not None:
                # The repeats of one setting share its published figure, so the mean of their errors counts.
                figure = json.dumps([setting, one.value, one.source])
                words = metric_words(one.metric)
                words += "" if one.relative_to is None else f" to that of {values_text(one.relative_to)}"
                repeats.setdefault(words, {}).setdefault(figure, []).append(one.error)
    clauses = []
    for words, figures in repeats.items():
        errors = [sum(of_one) / len(of_one) for of_one in figures.values()]
        low, high = (percent(error, signed=True) for error in (min(errors), max(errors)))
        many = f" ({len(errors)} figures)" if len(errors) > 1 else ""
        clauses.append(f"{words} {low if low == high else f'{low} to {high}'}{many}")
    if len(clauses) > PUBLISHED_MAX:
        clauses[PUBLISHED_MAX:] = [f"{len(clauses) - PUBLISHED_MAX} more in the table"]
    return f"Against what was published: {', '.join(clauses)}." if clauses else ""


def _threshold_notices(done: list[tuple[Cell, CellSummary]]) -> list[Notice]:
    """A line on the limits of the experiment: how many were kept, and which were not."""
    judged = [(cell, one) for cell, summary in done for one in summary.thresholds]
    if not judged:
        return []
    failed = [(cell, one) for cell, one in judged if not one.passed]
    told = f"Thresholds: {len(judged) - len(failed)} of {len(judged)} passed."
    if not failed:
        return [Notice("good", told)]
    named = "; ".join(one.text + (f" ({label(cell)})" if len(done) > 1 else "") for cell, one in failed[:NAMED_MAX])
    more = f"; and {len(failed) - NAMED_MAX} more" if len(failed) > NAMED_MAX else ""
    return [Notice("bad", f"{told} Failed: {named}{more}.")]


def notices(result: Result) -> list[Notice]:
    """The notices at the top of the page: unfinished, failed, faults, never steady, few samples, and every warning."""
    found: list[Notice] = []
    done = finished(result)
    many = len(result.cells) > 1

    def of(cells: list[Cell]) -> str:
        if not many:
            return ""
        names = "; ".join(label(cell) for cell in cells[:NAMED_MAX])
        more = f" and {len(cells) - NAMED_MAX} more" if len(cells) > NAMED_MAX else ""
        return f" ({names}{more})"

    status = {
        "running": "This run is still going on, or was killed: what it had recorded is drawn.",
        "interrupted": "This run was interrupted: what it had recorded is drawn.",
        "failed": "This run failed: what it had recorded is drawn.",
    }.get(result.manifest.status)
    if status:
        left = len(result.cells) - len(done)
        missing = f" {left:,} of {len(result.cells):,} cells did not finish." if left and many else ""
        found.append(Notice("bad", status + missing + " `flatwater resume` does what is missing."))
    for cell, summary in done:
        if summary.status != "complete":
            why = f": {summary.error}" if summary.error else ""
            found.append(Notice("bad", f"{summary.status}{why}{of([cell])}"))
    found += _threshold_notices(done)
    faults: dict[str, list[Cell]] = {}
    for cell in result.cells:
        if (kind := _injected(result, cell)) is not None:
            faults.setdefault(kind, []).append(cell)
    for kind, cells in faults.items():
        what = f": {kind}" if kind else ""
        where = of(cells) if len(cells) < len(result.cells) else ""
        found.append(Notice("bad", f"A fault was injected on purpose{what}{where}."))
    for cell, summary in done:
        found += [Notice(level, f"{text}{of([cell])}.") for level, text in _broken(summary)]
    restless = [cell for cell, summary in done if summary.verdict == "not steady" or summary.steady is False]
    if restless:
        found.append(
            Notice(
                "warning", f"Never became steady{of(restless)}: the mean is of a moving target, not a sustained rate."
            )
        )
    few = [cell for cell, summary in done if 0 <= summary.samples < SAMPLES_FEW]
    if few:
        found.append(
            Notice("warning", f"Fewer than {SAMPLES_FEW} intervals were measured{of(few)}: little can be said.")
        )
    seams = [cell for cell in result.cells if any(event.kind == "seam" for event in cell.events)]
    if seams:
        found.append(Notice("warning", f"Resumed after a kill{of(seams)}: the seam is marked in the charts."))
    # The same warning with other figures is one notice, with the figures of the first cell.
    warned: dict[str, tuple[str, list[Cell]]] = {}
    for cell, summary in done:
        for text in summary.warnings:
            warned.setdefault(_FIGURES.sub("#", text), (text, []))[1].append(cell)
    for text, cells in warned.values():
        if not (faults and text.startswith(FAULT_WARNING)):
            found.append(Notice("warning", f"{text[:1].upper()}{text[1:]}{of(cells)}"))
    return found


def _broken(summary: CellSummary) -> list[tuple[Literal["bad", "warning"], str]]:
    """Notices of a database's cell: wrong data, and response times over the limits of its specification."""
    found: list[tuple[Literal["bad", "warning"], str]] = []
    broken = {one.number for one in summary.consistency if one.applies and one.holds is False}
    violated = [str(number) for number in sorted(broken)]
    if violated:
        many = "s" if len(violated) > 1 else ""
        found.append(("bad", f"The data are not consistent: condition{many} {', '.join(violated)} violated"))
    slow = [
        f"{kind_name(one.kind)} {microseconds(one.p90_us)} (allowed: {microseconds(one.limit_us)})"
        for one in summary.response_limits
        if not one.within
    ]
    if slow:
        found.append(("warning", f"Slower than the specification allows, at the 90th percentile: {', '.join(slow)}"))
    return found


def _injected(result: Result, cell: Cell) -> str | None:
    """The kind of the injected fault, empty if it is not known; None if there was no fault."""
    for text in cell.summary.warnings if cell.summary is not None else []:
        if text.startswith(FAULT_WARNING):
            return text.removeprefix(FAULT_WARNING).strip(" :.")
    for layer in ("storage", "database"):
        table = result.experiment.get(layer)
        fault = table.get("fault") if isinstance(table, dict) else None
        asked = dict(fault) if isinstance(fault, dict) else {}
        for name, value in cell.set.items():
            if name == f"{layer}.fault":
                asked = dict(value) if isinstance(value, dict) else {}
            elif name.startswith(f"{layer}.fault."):
                asked[name.removeprefix(f"{layer}.fault.")] = value
        if asked:
            return str(asked.get("kind", ""))
    return None


def modelled_text(result: Result) -> str:
    """The layers that were modelled and not measured, and their devices; empty if everything was real."""
    layers: dict[str, None] = {}
    devices: dict[str, None] = {}
    for _, summary in finished(result):
        layers |= dict.fromkeys(layer for layer in LAYERS if summary.layers.get(layer) == "modelled")
        if summary.layers.get("storage") == "modelled" and summary.layers.get("device"):
            devices[summary.layers["device"]] = None
    if not layers:
        return ""
    names = list(devices)
    more = f" and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else ""
    of = f", of {'; '.join(names[:NAMED_MAX])}{more}" if names else ""
    *first, last = layers
    told = f"{', '.join(first)} and {last}" if first else last
    models = f"{told} {'is a model' if len(layers) == 1 else 'are models'}{of}"
    behind = _lag_text([summary for _, summary in finished(result)])
    return f"Modelled in real time: {models}. {behind}" if behind else f"Computed, not measured: {models}."


def _lag_text(summaries: list[CellSummary]) -> str:
    """The highest lag of served devices behind their models, over the cells; empty if none was served."""
    lags, late = (
        [mean for one in summaries if (told := one.metrics.get(name)) and (mean := told.mean) is not None]
        for name in ("storage.lag_p95_us", "storage.lag_late_pct")
    )
    if not lags or not late:
        return ""
    each = " in the worst cell" if len(lags) > 1 else ""
    return (
        f"What ran on it was measured. Answers came {seconds(max(lags) * 1e-6)} after the model's time "
        f"(95 % of them sooner), {number(max(late), 2)} % of them late{each}."
    )


#: What a layer is made of, in the summary's layers.
_DEVICE_OF = {"storage": "device", "cache": "cache_device"}


def badges(result: Result) -> list[Badge]:
    """The four layers, with one badge for each different implementation that a layer had in the cells.

    The other storages, which parts of a server were placed on, follow by their names.
    """
    found: dict[tuple[str, str], Badge] = {}
    for cell in result.cells:
        layers = cell.summary.layers if cell.summary is not None else {}
        for layer in LAYERS:
            text = layers.get(layer)
            if text is not None and layers.get(_DEVICE_OF.get(layer, "")):
                text = f"{text}: {layers[_DEVICE_OF[layer]]}"
            if text is None:
                if cell.summary is None and any(one.summary is not None for one in result.cells):
                    continue
                text = _layer_text(result.experiment.get(layer), layer)
                found.setdefault((layer, text), Badge(layer, "none" if text == "none" else "unknown", text))
            else:
                found.setdefault((layer, text), Badge(layer, _kind(text), text))
        others = ((name, text) for name, text in layers.items() if name.startswith("storage "))
        found |= {(name, text): Badge(name, _kind(text), text) for name, text in others if (name, text) not in found}
    return sorted(found.values(), key=lambda badge: (LAYERS.index(badge.layer.split(" ")[0]), badge.layer))


def _kind(text: str) -> Literal["real", "modelled", "none", "unknown"]:
    word = text.split(" ", 1)[0].strip(":,").lower()
    if word in ("real", "modelled"):
        return "real" if word == "real" else "modelled"
    return "none" if word in ("none", "") else "unknown"


def _layer_text(table: Any, layer: str) -> str:
    if not isinstance(table, dict):
        return "none" if layer in ("database", "cache") else "not recorded"
    words = [str(table[name]) for name in ("kind", "device", "path") if table.get(name)]
    return " ".join(words) or "not recorded"
