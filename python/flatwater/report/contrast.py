"""The differences between the cells of a small sweep: a table against the first setting, and sentences.

The sentences state only what was measured. A ratio has the 95 % confidence interval that follows from the intervals of
the two means (delta method: relative errors add in squares). If a setting was repeated, the spread of its repeats is
used if it is wider: a single run does not show what changes from one run to the next.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass

from flatwater.report.swept import label, shown
from flatwater.report.units import MISSING, binary_bytes, number
from flatwater.results import Cell, CellSummary, MetricSummary, Result

#: A single setting has no other to compare with, and for more settings than these the charts are clearer than
#: sentences.
SETTINGS_MIN, SETTINGS_MAX = 2, 8
#: Decimals of a ratio.
DECIMALS_MAX = 5
#: More settings than these are summed up as a range.
NAMED_MAX = 3
#: Student's t for a 95 % interval, by degrees of freedom (from any table of it); beyond those, that of the normal
#: distribution.
STUDENT = (12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
NORMAL = 1.96
AGE, LIMIT = "database.checkpoint_age_bytes", "database.checkpoint_age_max_bytes"
DIRTY = "database.dirty_pct"


@dataclass(frozen=True)
class Row:
    """One setting: the means of its cells, each as text; empty if it was not recorded."""

    name: str
    #: Indexes of the cells.
    cells: list[int]
    throughput: str
    #: Against the first setting: `1.12 (1.10-1.14)`.
    ratio: str
    age: str
    #: As a share of the limit of the checkpoint age: mean, highest.
    age_share: str
    dirty: str
    flatness: str
    verdicts: list[str]


@dataclass(frozen=True)
class Contrast:
    """The table's rows, the columns that are not empty, and the sentences above the table."""

    #: The swept field if there is only one; otherwise empty, and the rows' names contain the fields.
    field: str
    rows: list[Row]
    sentences: list[str]

    def has(self, column: str) -> bool:
        """Whether any row has a value in this column."""
        return any(getattr(row, column) for row in self.rows)


@dataclass(frozen=True)
class _Setting:
    name: str
    cells: list[int]
    summaries: list[CellSummary]

    @property
    def mean(self) -> float:
        return sum(one.mean or 0.0 for one in self.summaries) / len(self.summaries)

    @property
    def half(self) -> float | None:
        """Half-width of the mean's 95 % confidence interval; None if no run has one."""
        inside = [one.mean_ci95 for one in self.summaries]
        known = [one for one in inside if one is not None]
        found = [math.hypot(*known) / len(known)] if len(known) == len(inside) else []
        count = len(self.summaries)
        if count > 1:
            spread = math.sqrt(sum(((one.mean or 0.0) - self.mean) ** 2 for one in self.summaries) / (count - 1))
            t = STUDENT[count - 2] if count - 2 < len(STUDENT) else NORMAL
            found.append(t * spread / math.sqrt(count))
        return max(found, default=None)

    @property
    def flatness(self) -> float | None:
        found = [one.flatness for one in self.summaries if one.flatness is not None]
        return sum(found) / len(found) if found else None

    def metric(self, name: str) -> tuple[float, float] | None:
        """(mean, highest) of a recorded series over the measured phases of the cells."""
        found = [one.metrics[name] for one in self.summaries if name in one.metrics]
        pairs = [(one.mean, one.max) for one in found if _known(one)]
        if not pairs:
            return None
        means, tops = zip(*pairs, strict=True)
        return sum(means) / len(means), max(tops)


def contrast(result: Result) -> Contrast | None:
    """The differences between 2 to 8 settings; None if there are fewer or more, or if their units differ."""
    groups: dict[str, list[Cell]] = {}
    for cell in result.cells:
        if cell.summary is not None and cell.summary.mean is not None and math.isfinite(cell.summary.mean):
            groups.setdefault(json.dumps(cell.set, sort_keys=True, default=str), []).append(cell)
    field = _field(result)
    settings = [
        _Setting(
            _name(cells[0], field), [cell.index for cell in cells], [cell.summary for cell in cells if cell.summary]
        )
        for cells in groups.values()
    ]
    units = {one.unit for setting in settings for one in setting.summaries}
    if not SETTINGS_MIN <= len(settings) <= SETTINGS_MAX or len(units) != 1:
        return None
    unit = units.pop()
    first = settings[0]
    rows = [_row(setting, first, unit) for setting in settings]
    sentences = [_throughput(setting, first) for setting in settings[1:]]
    sentences += [text for text in (_ages(settings), _dirty(settings), _lines(settings)) if text]
    return Contrast(field, rows, [text for text in sentences if text])


def _field(result: Result) -> str:
    """The swept field if there is only one and its values need no name ("24 MiB", "O_DIRECT", not 8); else empty."""
    fields = {name for cell in result.cells for name in cell.set}
    if len(fields) != 1:
        return ""
    field = fields.pop()
    texts = [shown(field, cell.set[field]) for cell in result.cells if field in cell.set]
    return field if all(any(letter.isalpha() for letter in text) for text in texts) else ""


def _name(cell: Cell, field: str) -> str:
    if field and field in cell.set:
        return shown(field, cell.set[field])
    return label(cell).removesuffix(f" (repeat {cell.plan.repeat + 1})")


def _known(one: MetricSummary) -> bool:
    return one.mean is not None and one.max is not None and math.isfinite(one.mean) and math.isfinite(one.max)


def ratio(ours: _Setting, theirs: _Setting) -> tuple[float, float, float] | None:
    """(ratio, low, high) of the mean throughputs, 95 %; low and high are NaN if a mean has no interval."""
    if theirs.mean <= 0:
        return None
    value = ours.mean / theirs.mean
    if ours.half is None or theirs.half is None or ours.mean <= 0:
        return value, math.nan, math.nan
    half = value * math.hypot(ours.half / ours.mean, theirs.half / theirs.mean)
    return value, max(value - half, 0.0), value + half


def _decimals(low: float, high: float) -> int:
    """Enough decimals to distinguish the ends of an interval, and an end from 1; at least two."""
    digits = min(max(2, -math.floor(math.log10(max(high - low, 1e-4)))), 4)
    while digits < DECIMALS_MAX and any(end != 1 and round(end, digits) == 1 for end in (low, high)):
        digits += 1
    return digits


def _ratio_text(found: tuple[float, float, float]) -> tuple[str, str]:
    """The ratio and its interval as text; the interval is empty if it is not known."""
    value, low, high = found
    if math.isnan(low):
        return f"{value:.2f}", ""
    digits = _decimals(low, high)
    return f"{value:.{digits}f}", f"{low:.{digits}f} to {high:.{digits}f}"


def _throughput(setting: _Setting, first: _Setting) -> str:
    found = ratio(setting, first)
    if found is None:
        return ""
    text, interval = _ratio_text(found)
    if not interval:
        return f"Throughput with {setting.name} is {text}x that with {first.name} (too few samples for an interval)."
    if found[1] <= 1 <= found[2]:
        return f"No difference in throughput is shown between {setting.name} and {first.name} (95 % CI {interval})."
    return f"Throughput with {setting.name} is {text}x that with {first.name} (95 % CI {interval})."


def _share(setting: _Setting) -> tuple[float, float] | None:
    """Checkpoint age as a share of its limit: (mean, highest)."""
    age, limit = setting.metric(AGE), setting.metric(LIMIT)
    if age is None or limit is None or limit[0] <= 0:
        return None
    return age[0] / limit[0], age[1] / limit[1]


def _pct(share: float) -> str:
    return f"{100 * share:.0f} %"


def _ages(settings: list[_Setting]) -> str:
    """Checkpoint age of each setting, as a share of its limit if the limit is known."""
    shares = {setting.name: share for setting in settings if (share := _share(setting)) is not None}
    if len(settings) > NAMED_MAX and len(shares) == len(settings):
        low, high = (find(shares, key=lambda name: shares[name][0]) for find in (min, max))
        top = _pct(max(top for _, top in shares.values()))
        told = f"{_pct(shares[low][0])} ({low}) to {_pct(shares[high][0])} ({high})"
        return f"Checkpoint age was on average {told} of its limit, and at most {top}."
    clauses = []
    for setting in settings if len(settings) <= NAMED_MAX else []:
        if (age := setting.metric(AGE)) is not None:
            share = shares.get(setting.name)
            of = f"{_pct(share[0])} of its limit, at most {_pct(share[1])}" if share else f"at most {_bytes(age[1])}"
            clauses.append(f"{_bytes(age[0])} ({of}) with {setting.name}")
    return f"Checkpoint age was on average {_listed(clauses)}." if clauses else ""


def _dirty(settings: list[_Setting]) -> str:
    dirty = {setting.name: found for setting in settings if (found := setting.metric(DIRTY)) is not None}
    if not dirty:
        return ""
    if len(dirty) > NAMED_MAX:
        low, high = (find(dirty, key=lambda name: dirty[name][0]) for find in (min, max))
        told = f"{dirty[low][0]:.0f} % ({low}) to {dirty[high][0]:.0f} % ({high})"
    else:
        told = _listed([f"{mean:.0f} % (at most {top:.0f} %) with {name}" for name, (mean, top) in dirty.items()])
    return f"Of the buffer pool, {told} was dirty on average."


def _lines(settings: list[_Setting]) -> str:
    """The verdicts in a sentence; empty if there is none."""
    words = {setting.name: " or ".join(_verdicts(setting)) for setting in settings}
    if not all(words.values()):
        return ""
    told = [f"{_flatness(setting)} with {setting.name}" for setting in settings if _flatness(setting)]
    if len(told) > NAMED_MAX:
        values = [value for setting in settings if (value := setting.flatness) is not None]
        low, high = number(min(values), 3), number(max(values), 3)
        told = [low if low == high else f"from {low} to {high}"]
    flatness = f"; flatness {_listed(told)}" if told else ""
    if len(set(words.values())) == 1:
        every = "Both lines" if len(settings) == 2 else f"All {len(settings)} lines"
        return f"{every} are judged {words[settings[0].name]}{flatness}."
    by_word: dict[str, list[str]] = {}
    for name, word in words.items():
        by_word.setdefault(word, []).append(name)
    return (
        f"The lines differ: {'; '.join(f'{word} with {_listed(names)}' for word, names in by_word.items())}{flatness}."
    )


def _verdicts(setting: _Setting) -> list[str]:
    return list(dict.fromkeys(one.verdict for one in setting.summaries if one.verdict is not None))


def _flatness(setting: _Setting) -> str:
    return number(setting.flatness, 3) if setting.flatness is not None else ""


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _bytes(value: float) -> str:
    return binary_bytes(value) if value >= 0 else MISSING


def _pair(found: tuple[float, float] | None, text: Callable[[float], str]) -> str:
    return f"{text(found[0])} / {text(found[1])}" if found else ""


def _row(setting: _Setting, first: _Setting, unit: str) -> Row:
    half = f" ± {number(setting.half, 3)}" if setting.half is not None else ""
    found = None if setting is first else ratio(setting, first)
    text, interval = _ratio_text(found) if found is not None else ("", "")
    return Row(
        name=setting.name,
        cells=setting.cells,
        throughput=f"{number(setting.mean)}{half} {unit}",
        ratio=f"{text} ({interval})" if interval else text,
        age=_pair(setting.metric(AGE), _bytes),
        age_share=_pair(_share(setting), _pct),
        dirty=_pair(setting.metric(DIRTY), lambda value: f"{value:.1f} %"),
        flatness=_flatness(setting),
        verdicts=_verdicts(setting),
    )
