"""The differences between the cells of a small sweep: a table against the first setting, and sentences.

The sentences state only what was measured. Where the intervals of ratios come from: `settings.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from flatwater.report.settings import Setting, ratio, settings_of
from flatwater.report.swept import shown
from flatwater.report.units import MISSING, binary_bytes, number
from flatwater.results import Result, Verdict

#: A single setting has no other to compare with, and for more settings than these the charts are clearer than
#: sentences.
SETTINGS_MIN, SETTINGS_MAX = 2, 8
#: More settings than these are summed up as a range.
NAMED_MAX = 3
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
    verdicts: list[Verdict]


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


def contrast(result: Result) -> Contrast | None:
    """The differences between 2 to 8 settings; None if there are fewer or more, or if their units differ."""
    field = _field(result)
    settings = settings_of(result, field)
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


def _throughput(setting: Setting, first: Setting) -> str:
    found = ratio(setting, first)
    if found is None:
        return ""
    if not found.has_interval:
        why = "too few samples for an interval"
        return f"Throughput with {setting.name} is {found.text}x that with {first.name} ({why})."
    if found.shows_no_difference:
        return (
            f"No difference in throughput is shown between {setting.name} and {first.name} (95 % CI {found.interval})."
        )
    return f"Throughput with {setting.name} is {found.text}x that with {first.name} (95 % CI {found.interval})."


def _share(setting: Setting) -> tuple[float, float] | None:
    """Checkpoint age as a share of its limit: (mean, highest)."""
    age, limit = setting.metric(AGE), setting.metric(LIMIT)
    if age is None or limit is None or limit[0] <= 0:
        return None
    return age[0] / limit[0], age[1] / limit[1]


def _pct(share: float) -> str:
    return f"{100 * share:.0f} %"


def _ages(settings: list[Setting]) -> str:
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


def _dirty(settings: list[Setting]) -> str:
    dirty = {setting.name: found for setting in settings if (found := setting.metric(DIRTY)) is not None}
    if not dirty:
        return ""
    if len(dirty) > NAMED_MAX:
        low, high = (find(dirty, key=lambda name: dirty[name][0]) for find in (min, max))
        told = f"{dirty[low][0]:.0f} % ({low}) to {dirty[high][0]:.0f} % ({high})"
    else:
        told = _listed([f"{mean:.0f} % (at most {top:.0f} %) with {name}" for name, (mean, top) in dirty.items()])
    return f"Of the buffer pool, {told} was dirty on average."


def _lines(settings: list[Setting]) -> str:
    """The verdicts in a sentence; empty if there is none."""
    words = {setting.name: " or ".join(setting.verdicts) for setting in settings}
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


def _flatness(setting: Setting) -> str:
    return number(setting.flatness, 3) if setting.flatness is not None else ""


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _bytes(value: float) -> str:
    return binary_bytes(value) if value >= 0 else MISSING


def _pair(found: tuple[float, float] | None, text: Callable[[float], str]) -> str:
    return f"{text(found[0])} / {text(found[1])}" if found else ""


def _row(setting: Setting, first: Setting, unit: str) -> Row:
    half = f" ± {number(setting.half, 3)}" if setting.half is not None else ""
    found = None if setting is first else ratio(setting, first)
    return Row(
        name=setting.name,
        cells=setting.cells,
        throughput=f"{number(setting.mean)}{half} {unit}",
        ratio="" if found is None else f"{found.text} ({found.interval})" if found.interval else found.text,
        age=_pair(setting.metric(AGE), _bytes),
        age_share=_pair(_share(setting), _pct),
        dirty=_pair(setting.metric(DIRTY), lambda value: f"{value:.1f} %"),
        flatness=_flatness(setting),
        verdicts=setting.verdicts,
    )
