"""The marks on the charts over time: phases, seams, faults and recoveries, dips and stalls."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence

from flatwater.report.figure import (
    APPROACH_SHADE,
    DRAIN_SHADE,
    FAINT,
    GREEN,
    INK,
    ORANGE,
    PRECONDITION_SHADE,
    PURPLE,
    RED,
    SETTLING_SHADE,
    WARMUP_SHADE,
    Json,
    time_axis,
)
from flatwater.report.recorded import Recorded
from flatwater.report.units import plain
from flatwater.results import Dip, Event, Stall

#: All phases except `measure` are shaded. `approach`: SNIA's rounds before the last five; `drain`: requests that were
#: still outstanding at the end of the time.
PHASE_COLOURS = {
    "precondition": PRECONDITION_SHADE,
    "warmup": WARMUP_SHADE,
    "approach": APPROACH_SHADE,
    "drain": DRAIN_SHADE,
    "verify": DRAIN_SHADE,
}
PHASE_WORDS = {"warmup": "warm-up", "approach": "approach to steady state"}
#: A phase that is narrower than this share of the axis has no space for its name.
LABELLED_SHARE = 0.07
#: The events that have a line: name, colour and stroke.
EVENTS = {
    "seam": ("resumed", INK, "dash"),
    "fault": ("fault", RED, "dot"),
    "recovered": ("recovered", GREEN, "dot"),
    "pause": ("not recorded", INK, "dot"),
    # An incident of a modelled device has its own text as its name.
    "incident": ("", PURPLE, "dot"),
}
#: The most letters of an event's own text.
EVENT_LETTERS_MAX = 56
#: The most letters of a line of the text that a note shows under the pointer.
HOVER_LETTERS_MAX = 72
#: The width of a letter of a note, as a share of the axis of the page at its usual width (11 pixels high, 1080 wide).
LETTER_SHARE = 6.2 / 1080
#: Pixels from one row of notes to the next.
ROW_HEIGHT = 14
#: More lines than this are not readable as marks.
EVENTS_MAX = 60


def timeline(recorded: Recorded, layout: Json, *, labels: bool = False) -> Json:
    """Gives a chart over time its x axis and the marks of all charts over time; `labels` also names the marks."""
    clock, cell = recorded.clock, recorded.cell
    axis = {**time_axis(clock, recorded.span_s), **layout.get("xaxis", {})}
    shapes: list[Json] = []
    notes: list[Json] = []

    def shade(start_s: float, end_s: float, colour: str, words: str) -> None:
        if end_s <= start_s:
            return
        x0, x1 = start_s * clock.factor, end_s * clock.factor
        shapes.append(
            {"type": "rect", "xref": "x", "yref": "paper", "x0": x0, "x1": x1, "y0": 0, "y1": 1}
            | {"fillcolor": colour, "opacity": 0.6, "line": {"width": 0}, "layer": "below"}
        )
        if labels and end_s - start_s >= LABELLED_SHARE * recorded.span_s:
            notes.append(_note((x0 + x1) / 2, words, "center"))

    for phase in cell.phases:
        if phase.name in PHASE_COLOURS:
            shade(phase.start_s, phase.end_s, PHASE_COLOURS[phase.name], PHASE_WORDS.get(phase.name, phase.name))
    start_s, _ = cell.measured_span()
    if cell.summary is not None and cell.summary.warmup_end_s is not None:
        shade(start_s, cell.summary.warmup_end_s, SETTLING_SHADE, "settling")
    drawn = [event for event in cell.events if event.kind in EVENTS][:EVENTS_MAX]
    names = _names(drawn, recorded.span_s)
    for at, event in enumerate(drawn):
        x = event.time_s * clock.factor
        _, colour, dash = EVENTS[event.kind]
        shapes.append(_upright(x, colour, dash))
        if labels and at in names:
            word = names[at]
            left = event.time_s + _width(word, recorded.span_s) < recorded.span_s
            note = _note(x, f"&#8201;{word}&#8201;", "left" if left else "right")
            notes.append(note | {"hovertext": _wrapped(event.text), "font": {"size": 11, "color": colour}})
    for at_s, word in _transition(recorded) if labels else []:
        shapes.append(_upright(at_s * clock.factor, INK, "dashdot"))
        notes.append(_note(at_s * clock.factor, f"&#8201;{word}&#8201;", "left"))
    _apart(notes, axis["range"][1])
    return {**layout, "xaxis": axis, "shapes": shapes, "annotations": notes}


def _transition(recorded: Recorded) -> list[tuple[float, str]]:
    """The begin of a write run's transition, and the time from which it was steady."""
    found = recorded.cell.summary.transition if recorded.cell.summary is not None else None
    if found is None:
        return []
    marks = [(found.begin_s, "transition")]
    return [*marks, (found.end_s, "steady")] if found.end_s is not None else marks


def _names(events: Sequence[Event], span_s: float) -> dict[int, str]:
    """The names of events, by their place. Consecutive incidents with the same text have one name."""
    names: dict[int, str] = {}
    # Grouped by the words of the incident (figures follow in its text): the place of the first, the time of the last,
    # the number.
    bursts: dict[str, tuple[int, float, int]] = {}
    for at, event in enumerate(events):
        name = EVENTS[event.kind][0] or _short(event.text)
        if event.kind == "incident":
            what = event.text.partition(":")[0]
            first, last_s, times = bursts.get(what, (at, -math.inf, 0))
            if event.time_s - last_s <= _width(name, span_s):
                bursts[what] = (first, event.time_s, times + 1)
                names[first] = _short(f"{what}, {times + 1} times")
                continue
            bursts[what] = (at, event.time_s, 1)
        names[at] = name
    return names


def _short(text: str) -> str:
    return plain(text if len(text) <= EVENT_LETTERS_MAX else f"{text[: EVENT_LETTERS_MAX - 1]}…")


def _wrapped(text: str) -> str:
    """A whole text in lines that a chart has room for."""
    return "<br>".join(plain(one) for one in textwrap.wrap(text, HOVER_LETTERS_MAX) or [""])


def _width(text: str, span: float) -> float:
    """The share of an axis that a note takes."""
    return len(text) * LETTER_SHARE * span


def _apart(notes: list[Json], span: float) -> None:
    """Moves a note that would overlap an earlier note to a lower row."""
    rows: list[list[tuple[float, float]]] = []
    for note in notes:
        width = _width(note["text"].replace("&#8201;", " "), span)
        start = note["x"] - width * {"left": 0.0, "center": 0.5, "right": 1.0}[note["xanchor"]]
        free = (place for place, row in enumerate(rows) if all(start >= b or start + width <= a for a, b in row))
        place = next(free, len(rows))
        if place == len(rows):
            rows.append([])
        rows[place].append((start, start + width))
        if place:
            note["yshift"] = -ROW_HEIGHT * place


def _upright(x: float, colour: str, dash: str) -> Json:
    place: Json = {"type": "line", "xref": "x", "yref": "paper", "x0": x, "x1": x, "y0": 0, "y1": 1}
    return place | {"line": {"color": colour, "width": 1.4, "dash": dash}}


def _note(x: float, text: str, anchor: str) -> Json:
    return {
        "x": x,
        "xref": "x",
        "y": 1,
        "yref": "paper",
        "yanchor": "top",
        "xanchor": anchor,
        "text": text,
        "showarrow": False,
        "font": {"size": 11, "color": FAINT},
    }


def dips_and_stalls(recorded: Recorded, low: float, high: float) -> list[Json]:
    """Two traces that cover, from `low` to `high` of the y axis, the times of the dips and of the stalls."""
    summary = recorded.cell.summary
    if summary is None:
        return []
    found: list[tuple[str, str, Sequence[Dip | Stall]]] = [
        ("dip", ORANGE, summary.dips),
        ("stall", RED, summary.stalls),
    ]
    return [_bands(recorded, name, colour, spans, low, high) for name, colour, spans in found if spans]


def _bands(recorded: Recorded, name: str, colour: str, spans: Sequence[Dip | Stall], low: float, high: float) -> Json:
    # One trace with a gap between the bands: hundreds of dips cost one path, and the legend explains them.
    factor = recorded.clock.factor
    x: list[float | None] = []
    y: list[float | None] = []
    for span in spans:
        start, end = span.start_s * factor, (span.start_s + span.length_s) * factor
        if not (math.isfinite(start) and math.isfinite(end)):
            continue
        x += [start, start, end, end, None]
        y += [low, high, high, low, None]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": [None if one is None else round(one, 6) for one in x],
        "y": y,
        "fill": "toself",
        "fillcolor": f"rgba({int(colour[1:3], 16)},{int(colour[3:5], 16)},{int(colour[5:7], 16)},0.28)",
        # An outline, so that one second of eight hours is still visible.
        "line": {"color": colour, "width": 0.8},
        "hoverinfo": "skip",
    }
